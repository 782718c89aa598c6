// Secrets that a cell may use and never sees. It holds a placeholder of the same length, so that what a server says back
// can be cleaned without its framing being changed.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "net/pattern.h"
#include "net/scrub.h"

namespace hotcell::net {

struct Secret {
  std::string name, placeholder, value;
  HostPattern where;
};

inline constexpr std::size_t kShortestSecret = 8, kLongestSecret = 4096;

// `where`: a host, *.d, and perhaps a port. The value must fit into a header field.
Result<Secret> make_secret(std::string_view name, std::string_view where, std::string_view value);
// As the doors take them: "NAME@HOST" and the value. One variable for several hosts has one value and one placeholder.
Result<std::vector<Secret>> make_secrets(const std::map<std::string, std::string>& given);
// A secret that was made elsewhere.
Result<Secret> known_secret(std::string_view name, std::string_view where, std::string_view placeholder, std::string_view value);

// In a header field's value: as it stands, or within the credentials of Basic.
std::string with_secrets(std::string_view text, const std::vector<Secret>& secrets);
// In the path and query of an address, where what is special is written with percent signs.
std::string path_with_secrets(std::string_view path, const std::vector<Secret>& secrets);

}  // namespace hotcell::net
