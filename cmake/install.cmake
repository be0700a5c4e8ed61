# The files of a prefix that no folder of src/ installs itself. The tool, its libraries, man pages
# and shell completion come from there.
install(FILES include/sonde/sonde.h include/sonde/backend.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sonde)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(PROGRAMS python/rpd2tracing.py DESTINATION ${CMAKE_INSTALL_BINDIR})
# For PYTHONPATH; pip takes it from the sources.
install(DIRECTORY python/sonde DESTINATION lib/sonde/python FILES_MATCHING PATTERN "*.py")
