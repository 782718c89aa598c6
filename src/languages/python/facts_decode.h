// The encodings in which payloads hide. nullopt: not valid, or not one we undo.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hotcell::python {

std::optional<std::string> decode_base64(std::string_view text);  // both alphabets; other characters are skipped
std::optional<std::string> decode_base32(std::string_view text);
std::optional<std::string> decode_hex(std::string_view text);
std::string encode_hex(std::string_view bytes);
std::string rot13(std::string_view text);
// bytes.decode(codec), codecs.decode(…, codec); `decode` false: the way back.
std::optional<std::string> decode_codec(std::string_view text, std::string_view codec, bool decode);

}  // namespace hotcell::python
