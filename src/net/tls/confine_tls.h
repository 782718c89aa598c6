// What hotcell-tls puts itself behind before it reads its first byte. Whoever takes it over by a bug in a parser has the
// secrets of this one cell, which it holds anyway, and the connections it was given: it opens no file, starts nothing,
// connects nowhere.
#pragma once
#include <string>
#include <vector>

#include "hotcell/launcher.h"

namespace hotcell::net {

// `readable`: files and folders of certificates; those that are not there are left out.
Result<Enforcement> confine_tls(const std::vector<std::string>& readable);

}  // namespace hotcell::net
