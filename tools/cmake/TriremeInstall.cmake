# A tree that can be moved: bin/trireme and share/trireme/{inputs,jobs,tools}.
include(GNUInstallDirs)
install(TARGETS trireme RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY inputs jobs DESTINATION "${CMAKE_INSTALL_DATADIR}/trireme")
install(DIRECTORY tools/ DESTINATION "${CMAKE_INSTALL_DATADIR}/trireme/tools" USE_SOURCE_PERMISSIONS
        FILES_MATCHING PATTERN "*.py" PATTERN "cmake" EXCLUDE)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DATADIR}/trireme")
