# cmake -DOUT=page_template.cc -DFILE=web/dist/report.html -P embed_page.cmake
#
# Writes the page as a C++ source, in pieces: a compiler need not take a longer
# literal than 64 KiB.
file(READ ${FILE} text)
string(LENGTH "${text}" length)
set(pieces "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 16000 piece)
  string(APPEND pieces "      R\"hopgappage(${piece})hopgappage\"\n")
  math(EXPR at "${at} + 16000")
endwhile()
file(WRITE ${OUT} "#include \"formats/page_template.h\"

namespace hopgap::formats {

std::string_view PageTemplate() {
  static constexpr char kText[] =
${pieces}      ;
  return {kText, sizeof kText - 1};
}

}  // namespace hopgap::formats
")
