# The library, static and shared, from one set of objects; and the command.
add_library(hone_objects OBJECT ${hone_sources})
target_include_directories(hone_objects PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(hone_objects PUBLIC ${hone_library_dependencies})

add_library(hone_static STATIC $<TARGET_OBJECTS:hone_objects>)
add_library(hone_shared SHARED $<TARGET_OBJECTS:hone_objects>)
set_target_properties(hone_static hone_shared PROPERTIES OUTPUT_NAME hone)
set_target_properties(hone_shared PROPERTIES
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
foreach(library hone_static hone_shared)
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
  target_link_libraries(${library} PUBLIC ${hone_library_dependencies})
endforeach()
if(NOT HONE_SANITIZE AND NOT HONE_FUZZ)
  target_link_options(hone_shared PRIVATE -Wl,-z,defs)
endif()

# What the command and the tests are linked with. Instrumented code is large, with its debug
# information larger: a hundred tests share one library then, instead of holding it each.
set(hone_linked hone_static)
if(HONE_SANITIZE AND NOT HONE_FUZZ)
  set(hone_linked hone_shared)
endif()

# The command's files but main.c are a library of their own, for its tests.
file(GLOB hone_main CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/hone/main.c)
if(hone_main)
  list(REMOVE_ITEM hone_command_sources ${hone_main})
  if(NOT hone_command_sources)
    message(FATAL_ERROR "tools/hone holds a main.c and nothing else")
  endif()
  add_library(hone_cli STATIC ${hone_command_sources})
  target_include_directories(hone_cli PUBLIC ${CMAKE_SOURCE_DIR}/tools/hone
                             ${CMAKE_SOURCE_DIR}/tools/look ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(hone_cli PUBLIC ${hone_linked} ${hone_command_dependencies})
  add_executable(hone_command ${hone_main})
  set_target_properties(hone_command PROPERTIES OUTPUT_NAME hone)
  target_link_libraries(hone_command PRIVATE hone_cli)
endif()
