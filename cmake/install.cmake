# What `cmake --install` adds to the binaries and libraries: headers, man pages and shell completion.
# Man pages and completion are printed by the built tool from the same values as its --help.
install(FILES include/sonde/sonde.h include/sonde/backend.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sonde)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(NOT SONDE_SANITIZE AND NOT SONDE_FUZZ)
  file(GLOB command_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/commands/*.cpp)
  set(commands "")
  foreach(file ${command_files})
    get_filename_component(name ${file} NAME_WE)
    list(APPEND commands ${name})
  endforeach()
  set(generated ${PROJECT_BINARY_DIR}/install)
  install(CODE "
    function(generate out)
      execute_process(COMMAND ${PROJECT_BINARY_DIR}/bin/sonde help \${ARGN}
                      OUTPUT_FILE \${out} COMMAND_ERROR_IS_FATAL ANY)
    endfunction()
    file(REMOVE_RECURSE ${generated})
    file(MAKE_DIRECTORY ${generated}/man ${generated}/bash ${generated}/zsh)
    generate(${generated}/man/sonde.1 --format man)
    foreach(command ${commands})
      generate(${generated}/man/sonde-\${command}.1 --format man \${command})
    endforeach()
    generate(${generated}/bash/sonde --format bash)
    generate(${generated}/zsh/_sonde --format zsh)
  ")
  install(DIRECTORY ${generated}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(DIRECTORY ${generated}/bash/
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(DIRECTORY ${generated}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
