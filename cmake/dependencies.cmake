# System libraries. Each one found is offered to the linker, which keeps those
# that are used (--as-needed); a missing one shows as a missing header.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# Adds the imported target of each pkg-config module that is installed to LIST.
function(hone_find_libraries list)
  foreach(module IN LISTS ARGN)
    pkg_check_modules(${module} QUIET IMPORTED_TARGET ${module})
    if(${module}_FOUND)
      list(APPEND found PkgConfig::${module})
    else()
      message(STATUS "${module}: not installed")
    endif()
  endforeach()
  set(${list} ${found} PARENT_SCOPE)
endfunction()

hone_find_libraries(hone_library_dependencies jansson sqlite3 libzstd zlib libxxhash)
hone_find_libraries(hone_command_dependencies libjpeg libpng)
list(APPEND hone_library_dependencies Threads::Threads m ${CMAKE_DL_LIBS})
