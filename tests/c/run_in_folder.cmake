# Runs PROGRAM with a folder WORK that does not exist yet.
file(REMOVE_RECURSE ${WORK} ${WORK}_added)
execute_process(COMMAND ${PROGRAM} ${WORK} RESULT_VARIABLE result)
file(REMOVE_RECURSE ${WORK} ${WORK}_added)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}")
endif()
