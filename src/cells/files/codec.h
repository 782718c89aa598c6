// Any bytes as one word of a line: for journals and manifests, which a person may want to read.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cells/files/layers.h"

namespace hotcell::cells {

std::string encode_word(std::string_view bytes);  // never empty, no blanks: \xNN for what is not printable ASCII, \e for nothing
std::optional<std::string> decode_word(std::string_view word);
std::string encode_time(Time time);               // nanoseconds since 1970
std::optional<Time> decode_time(std::string_view word);

}  // namespace hotcell::cells
