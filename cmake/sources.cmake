# What there is to build: src/ is the library, tools/hone/ the command.
set(hone_folders base ir ops import passes loop sched tune codegen runtime backends
                 quant prune train dist serve bundle nas)
set(not_a_part "_(test|fuzz)\\.c$")

set(hone_sources)
foreach(folder IN LISTS hone_folders)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.c)
  list(APPEND hone_sources ${files})
endforeach()
list(FILTER hone_sources EXCLUDE REGEX ${not_a_part})

# What tests share lies in testing/ folders and is no part of the library.
set(hone_testing_sources ${hone_sources})
list(FILTER hone_testing_sources INCLUDE REGEX "/testing/")
list(FILTER hone_sources EXCLUDE REGEX "/testing/")

# The look of HTML reports is the command's and the demo's.
file(GLOB hone_look_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/look/*.c)
file(GLOB_RECURSE hone_command_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/hone/*.c)
list(APPEND hone_command_sources ${hone_look_sources})
list(FILTER hone_command_sources EXCLUDE REGEX ${not_a_part})

file(GLOB_RECURSE hone_test_sources CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/src/*_test.c ${CMAKE_SOURCE_DIR}/tools/*_test.c
     ${CMAKE_SOURCE_DIR}/tests/*_test.c)
file(GLOB_RECURSE hone_fuzz_sources CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/src/*_fuzz.c ${CMAKE_SOURCE_DIR}/tools/*_fuzz.c)
file(GLOB hone_test_tools CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/tools/*.c)
