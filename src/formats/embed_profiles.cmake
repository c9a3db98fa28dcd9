# cmake -DOUT=builtin_profiles.cc -DFILES=a.json,b.json -P embed_profiles.cmake
#
# Writes the profile files as a C++ source. Run at build time, whenever one of
# them has changed.
string(REPLACE "," ";" files "${FILES}")
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"profile(${text})profile\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"formats/builtin_profiles.h\"

namespace hopgap::formats {

std::span<const BuiltinText> BuiltinProfileTexts() {
  static constexpr BuiltinText kTexts[] = {
${entries}  };
  return kTexts;
}

}  // namespace hopgap::formats
")
