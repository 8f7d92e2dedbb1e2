# trireme_module(NAME SOURCES ... [DEPENDS other modules ...] [LIBRARIES targets of other projects ...])
#
# Makes the static library trireme_<NAME> from the sources of src/<NAME>/. The DEPENDS line is the only place where a
# module's dependencies are written; tests/lint compares it with the #include lines and with the level table.
function(trireme_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_library(trireme_${name} STATIC ${arg_SOURCES})
  target_include_directories(trireme_${name} PUBLIC "${CMAKE_SOURCE_DIR}/include" PRIVATE "${CMAKE_SOURCE_DIR}/src")
  foreach(dependency IN LISTS arg_DEPENDS)
    target_link_libraries(trireme_${name} PUBLIC trireme_${dependency})
  endforeach()
  target_link_libraries(trireme_${name} PRIVATE ${arg_LIBRARIES} trireme_options)
endfunction()

# trireme_unit_test(MODULE SOURCES ... [DEPENDS further modules ...] [LIBRARIES ...])
#
# One GoogleTest executable test_<MODULE>; CTest names each case unit.<MODULE>.<Suite>.<Case>.
function(trireme_unit_test module)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_executable(test_${module} ${arg_SOURCES})
  target_include_directories(test_${module} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/tests")
  target_link_libraries(test_${module} PRIVATE trireme_${module})
  foreach(dependency IN LISTS arg_DEPENDS)
    target_link_libraries(test_${module} PRIVATE trireme_${dependency})
  endforeach()
  target_link_libraries(test_${module} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main trireme_options)
  gtest_discover_tests(test_${module} TEST_PREFIX "unit.${module}." DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
