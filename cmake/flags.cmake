# How every C file is compiled.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")
if(HONE_SANITIZE)
  set(CMAKE_C_FLAGS_DEBUG "-O1 -g")
  set(CMAKE_C_VISIBILITY_PRESET default) # tests use what is internal through the shared library
endif()

add_compile_definitions(_GNU_SOURCE HONE_VERSION="${PROJECT_VERSION}")
# Exact arithmetic everywhere: no fused multiply-add that the source does not ask for.
add_compile_options(-ffp-contract=off -fno-math-errno)
add_compile_options(
  -Wall -Wextra -Wshadow -Wvla -Wundef -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings
  -Wno-unused-parameter -Wno-missing-field-initializers
  -Werror=implicit-function-declaration -Werror=implicit-int -Werror=int-conversion
  -Werror=incompatible-pointer-types -Werror=return-type -Werror=format -Werror=unused-result
  -Werror=strict-prototypes -Werror=vla
  -Wno-format-truncation -Wno-format-overflow)
add_link_options(-Wl,--as-needed)

if(HONE_SANITIZE)
  add_compile_options(-fsanitize=${HONE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HONE_SANITIZE})
endif()
if(HONE_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HONE_FUZZ needs clang; configure with: cmake --preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(HONE_COVERAGE)
  add_compile_options(--coverage -g)
  add_link_options(--coverage)
endif()
