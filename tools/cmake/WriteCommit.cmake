# cmake -DSOURCE=... -DOUTPUT=... -P WriteCommit.cmake: writes the commit of the tree as a header, only when it has changed.
execute_process(COMMAND git -C "${SOURCE}" rev-parse --short HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET)
if(NOT commit)
  set(commit "no commit")
endif()
set(text "#define TRIREME_COMMIT \"${commit}\"\n")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE "${OUTPUT}" "${text}")
endif()
