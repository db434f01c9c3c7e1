# Runs PROGRAM with a folder WORK that does not exist yet.
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${PROGRAM} ${WORK} RESULT_VARIABLE result)
file(REMOVE_RECURSE ${WORK})
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}")
endif()
