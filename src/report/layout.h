// Laying out text in columns: widths, padding, cutting in the middle, wrapping. Widths are terminal
// columns of valid UTF-8 (base/strings.h display_width). Used by the text renderer and by --help.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::report {

// What a column of a table wants: its natural width, the least that is still of use (the natural
// one where it cannot be cut), and how long it stays where not all fit.
struct ColumnNeed {
  size_t natural = 0;
  size_t least = 0;
  int priority = 0;
};
constexpr size_t kLeftOut = SIZE_MAX;

// Widths for columns that are separated by two spaces and fit into `room` (0 = no limit). Columns
// leave, by rising priority and of equal ones the rightmost first, until the least of all others
// fits; then the widest give way first. The last column does not leave.
std::vector<size_t> fit_columns(const std::vector<ColumnNeed>& needs, size_t room);

struct Table;
// These columns leave before the others where a table does not fit, in this order.
void leave_first(Table& table, std::initializer_list<const char*> keys);
// This one says what a row is: it stays, and has room for a name.
void lead_with(Table& table, const char* key);

// Text of five words and more, rather than a name.
bool is_sentence(std::string_view text);

// Cuts the middle out of a text wider than `width`, where long names differ least; out of a
// sentence whole words.
std::string ellipsize(std::string_view text, size_t width);

std::string pad(std::string_view text, size_t width, bool right_align);

// Paragraphs wrapped at `width`, each line ended by LF; lines after the first of a paragraph are
// indented by `indent`. Lines of `text` that begin with a space are kept as they are.
std::string wrap(std::string_view text, size_t width, size_t indent);

// Columns of the terminal behind `fd` (COLUMNS, then the kernel, then 80), 0 if it is none.
size_t terminal_width(int fd);
// Whether to colour what goes to `fd`: a terminal, and NO_COLOR is unset or empty.
bool wants_colour(int fd);

}  // namespace sonde::report
