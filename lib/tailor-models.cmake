# SPDX-License-Identifier: Apache-2.0
# Functions that convert models in a build; find_package(Tailor) includes them. CMake 3.21 or later.

# tailor_add_rules(NAME FILES FILE...)
#   Rewrite rules for models: tailor_add_model(... RULES NAME). The target NAME checks them.
function(tailor_add_rules name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES")
  if(NOT arg_FILES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tailor_add_rules(${name} FILES FILE...)")
  endif()
  set(files "")
  set(options "")
  foreach(file IN LISTS arg_FILES)
    get_filename_component(path "${file}" ABSOLUTE)
    list(APPEND files "${path}")
    list(APPEND options "--rules=${path}")
  endforeach()
  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/${name}.rules-checked")
  add_custom_command(OUTPUT "${stamp}" COMMAND tailor::tailor_exe passes ${options} --json > "${stamp}"
    DEPENDS ${files} COMMENT "Checking rules ${name}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS "${stamp}")
  set_target_properties(${name} PROPERTIES TAILOR_RULES "${files}")
endfunction()

# tailor_add_model(NAME MODEL FILE [FORMATS air onnx ...] [OUTPUT_DIRECTORY DIR] [RULES NAME...]
#                  [OPTIONS OPTION...] [DEPENDS FILE|TARGET...])
#   Converts FILE to NAME.air and so on, in the current binary folder or in DIR. What the conversion
#   reads is known from its depfile: weights beside the model, files of options. DEPENDS is for what
#   makes the model. The property TAILOR_OUTPUTS of the target NAME has the paths of the outputs.
function(tailor_add_model name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODEL;OUTPUT_DIRECTORY" "FORMATS;OPTIONS;RULES;DEPENDS")
  if(NOT arg_MODEL OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tailor_add_model(${name} MODEL FILE [FORMATS air onnx ...] ...): ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_FORMATS)
    set(arg_FORMATS air)
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  endif()
  get_filename_component(model "${arg_MODEL}" ABSOLUTE)
  set(outputs "")
  set(options "")
  foreach(format IN LISTS arg_FORMATS)
    list(APPEND outputs "${arg_OUTPUT_DIRECTORY}/${name}.${format}")
    list(APPEND options -o "${arg_OUTPUT_DIRECTORY}/${name}.${format}")
  endforeach()
  foreach(rules IN LISTS arg_RULES)
    get_target_property(files ${rules} TAILOR_RULES)
    list(APPEND arg_DEPENDS ${files})
    foreach(file IN LISTS files)
      list(APPEND options "--rules=${file}")
    endforeach()
  endforeach()
  set(depfile "${CMAKE_CURRENT_BINARY_DIR}/${name}.tailor.d")
  add_custom_command(OUTPUT ${outputs}
    COMMAND tailor::tailor_exe convert "${model}" ${options} -q "--depfile=${depfile}" ${arg_OPTIONS}
    DEPENDS "${model}" tailor::tailor_exe ${arg_DEPENDS}
    DEPFILE "${depfile}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    COMMENT "Converting ${name}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${outputs})
  set_target_properties(${name} PROPERTIES TAILOR_OUTPUTS "${outputs}")
endfunction()
