# The executable. Only main ends the process.
add_executable(trireme main.cpp command_line.cpp)
target_include_directories(trireme PRIVATE "${CMAKE_SOURCE_DIR}/src")
target_link_libraries(trireme PRIVATE trireme_plan trireme_train trireme_infer trireme_bench trireme_config trireme_checkpoint
                      trireme_data trireme_comm trireme_hdf5 trireme_kernels trireme_device trireme_base
                      CLI11::CLI11 fmt::fmt trireme_options)
set_target_properties(trireme PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
