# The build runs this. It writes OUT, a .cc with the text of every scenario in DIR, the default
# first.
file(GLOB files ${DIR}/*.yaml)
list(SORT files)
list(FIND files ${DIR}/default.yaml at)
if(at GREATER_EQUAL 0)
  list(REMOVE_AT files ${at})
  list(PREPEND files ${DIR}/default.yaml)
endif()
set(entries "")
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "      {\"${name}\", R\"scenario(${text})scenario\"},\n")
endforeach()
file(WRITE ${OUT} "// Made from demo/scenarios/*.yaml by the build.
#include \"sim/demo/demo.h\"

namespace tessera::demo {

const std::vector<BuiltinScenario>& BuiltinScenarios() {
  static const std::vector<BuiltinScenario> kScenarios = {
${entries}  };
  return kScenarios;
}

}  // namespace tessera::demo
")
