# Runs PROGRAM in the fresh folder WORK; its output must match EXPECTED.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${WORK}
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
file(REMOVE_RECURSE ${WORK})
message("${output}${errors}")
file(READ ${EXPECTED} expected)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "exit code ${result}")
endif()
if(NOT output MATCHES "^${expected}$")
  message(FATAL_ERROR "expected:\n${expected}")
endif()
