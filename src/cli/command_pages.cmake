# Writes a page in markdown for each command, and analyses.md, as the tool prints them, below FOLDER.
cmake_minimum_required(VERSION 3.25)
function(write_page file)
  execute_process(COMMAND ${SONDE} help --format ${ARGN} OUTPUT_FILE ${FOLDER}/${file}
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "sonde help --format ${ARGN} failed: ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/commands)
write_page(analyses.md analyses)
list(TRANSFORM COMMANDS REPLACE "_" "-")
foreach(name ${COMMANDS})
  write_page(commands/${name}.md markdown ${name})
endforeach()
write_page(commands/README.md markdown)
