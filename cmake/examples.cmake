# Example programs: each folder of examples/ with C files is BUILD/examples/hone-FOLDER.
# They see what a user of hone sees, include/hone, and the libraries and the look of reports
# of the command.
file(GLOB example_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_SOURCE_DIR}/examples/*)
foreach(folder IN LISTS example_folders)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
  if(NOT sources)
    continue()
  endif()
  get_filename_component(example ${folder} NAME)
  add_executable(example_${example} ${sources} ${hone_look_sources})
  target_include_directories(example_${example} PRIVATE ${CMAKE_SOURCE_DIR}/tools/look)
  set_target_properties(example_${example} PROPERTIES
                        OUTPUT_NAME hone-${example}
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
  target_link_libraries(example_${example} PRIVATE hone_static ${hone_command_dependencies})
endforeach()
