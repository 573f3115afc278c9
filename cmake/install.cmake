# make install: library, headers, command, pkg-config file.
install(TARGETS hone_static hone_shared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET hone_command)
  install(TARGETS hone_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# Relative to itself, so that an installation can be moved.
file(RELATIVE_PATH hone_prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/hone.pc.in hone.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
