# Tests beside the code, and the fuzzers with their corpus.
enable_testing()
pkg_check_modules(cmocka IMPORTED_TARGET cmocka)

# Adds the program of a test or fuzzer SOURCE, named after its path.
function(hone_test_program source out_target out_name)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE path)
  string(REGEX REPLACE "\\.c$" "" path ${path})
  string(REPLACE "/" "_" target ${path})
  add_executable(${target} ${source})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  if(path MATCHES "^tools/" AND TARGET hone_cli)
    target_link_libraries(${target} PRIVATE hone_cli)
  endif()
  target_link_libraries(${target} PRIVATE ${hone_linked})
  set(${out_target} ${target} PARENT_SCOPE)
  set(${out_name} ${path} PARENT_SCOPE)
endfunction()

# A request for more memory than there is gets NULL under a sanitizer too: hone must cope with it.
set(hone_test_environment
    HONE_BUILD_DIR=${CMAKE_BINARY_DIR} HONE_SOURCE_DIR=${CMAKE_SOURCE_DIR}
    ASAN_OPTIONS=allocator_may_return_null=1 TSAN_OPTIONS=allocator_may_return_null=1
    UBSAN_OPTIONS=print_stacktrace=1)

# Registers TARGET with ctest; every test runs in the root of the sources.
function(hone_test_register name target label)
  add_test(NAME ${name} COMMAND ${target} ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 900
                       ENVIRONMENT "${hone_test_environment}")
endfunction()

if(cmocka_FOUND)
  add_library(hone_testing STATIC ${hone_testing_sources})
  target_link_libraries(hone_testing PUBLIC ${hone_linked} PkgConfig::cmocka)
  target_include_directories(hone_testing PUBLIC ${CMAKE_SOURCE_DIR}/src)
  foreach(source IN LISTS hone_test_sources)
    hone_test_program(${source} target name)
    target_link_libraries(${target} PRIVATE hone_testing)
    # cmocka calls its test functions by pointer: they need no prototype, and may ignore state.
    target_compile_options(${target} PRIVATE -Wno-missing-prototypes)
    set(label quick)
    if(name MATCHES "_slow_test$")
      set(label slow)
    endif()
    hone_test_register(${name} ${target} ${label})
  endforeach()
else()
  message(WARNING "cmocka is not installed: the C tests are not built")
endif()

foreach(source IN LISTS hone_fuzz_sources)
  hone_test_program(${source} target name)
  target_compile_options(${target} PRIVATE -Wno-missing-prototypes)
  if(HONE_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    get_filename_component(stem ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" stem ${stem})
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz_driver.c)
    hone_test_register(${name} ${target} quick ${CMAKE_SOURCE_DIR}/tests/fuzz_corpus/${stem})
  endif()
endforeach()

# Programs that Python tests drive: tests/tools/x.c is BUILD/tests/tests_tools_x.
foreach(source IN LISTS hone_test_tools)
  hone_test_program(${source} target name)
endforeach()
