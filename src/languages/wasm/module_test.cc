#include "languages/wasm/module.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "languages/common/warm.h"

namespace hotcell {
namespace {

std::string name(std::string_view text) { return cat(std::string(1, static_cast<char>(text.size())), text); }
std::string section(char id, const std::string& body) { return cat(std::string(1, id), std::string(1, static_cast<char>(body.size())), body); }
const std::string kHead("\0asm\1\0\0\0", 8);
const std::string kType = section(1, std::string("\1\x60\0\0", 4)), kFunction = section(3, std::string("\1\0", 2)), kPage = section(5, std::string("\1\0\1", 3));
const std::string kCode = section(10, std::string("\1\2\0\x0b", 4));

std::string exports(std::vector<std::pair<std::string, char>> list) {
  std::string body(1, static_cast<char>(list.size()));
  for (const auto& [what, kind] : list) body += cat(name(what), std::string(1, kind), std::string(1, '\0'));
  return section(7, body);
}
std::string import(std::string_view module, std::string_view what, char kind = 0) {
  return section(2, cat(std::string(1, '\1'), name(module), name(what), std::string(1, kind), std::string(1, '\0')));
}
const std::string kUsual = exports({{"memory", 2}, {"_start", 0}});

std::string refusal(const std::string& bytes) {
  auto read = read_wasm_module(bytes);
  return read.ok() ? "" : read.error().message;
}

TEST(WasmModule, ACommandIsRead) {
  auto read = read_wasm_module(cat(kHead, kType, import("wasi_snapshot_preview1", "fd_write"), kFunction, kPage, kUsual, kCode));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().imports, (std::vector<std::string>{"fd_write"}));
  EXPECT_TRUE(read.value().has_memory);
  EXPECT_EQ(read.value().memory, 65536u);
}

TEST(WasmModule, NamesThatWouldBeCodeOfTheTranslatorAreRefused) {
  for (std::string odd : {"a*/ int evil(void) { return 1; } /*", "a\nb", "a\\", "a'b", "a\"b", "\xc3\xa4", "?"})
    EXPECT_NE(refusal(cat(kHead, kType, kFunction, kPage, exports({{"_start", 0}, {odd, 0}}), kCode)).find("characters"), std::string::npos) << odd;
  for (std::string usual : {"malloc", "_ZN3foo3barE", "__heap_base", "a.b$c", "cabi:x@1-2"})
    EXPECT_EQ(refusal(cat(kHead, kType, kFunction, kPage, exports({{"_start", 0}, {usual, 0}}), kCode)), "") << usual;
}

TEST(WasmModule, OnlyWhatIsThereMayBeImported) {
  EXPECT_NE(refusal(cat(kHead, kType, import("env", "system"), kFunction, kUsual, kCode)).find("env.system"), std::string::npos);
  EXPECT_NE(refusal(cat(kHead, kType, import("wasi_snapshot_preview1", "sock_open"), kFunction, kUsual, kCode)).find("sock_open"), std::string::npos);
  EXPECT_NE(refusal(cat(kHead, kType, import("wasi_snapshot_preview1", "fd_read", 2), kFunction, kUsual, kCode)).find("only functions"), std::string::npos);
}

TEST(WasmModule, WhatIsNoProgramSaysSo) {
  EXPECT_NE(refusal("\x7f" "ELF").find("does not begin"), std::string::npos);
  EXPECT_NE(refusal("").find("does not begin"), std::string::npos);
  EXPECT_NE(refusal(cat(kHead, kType, kFunction, exports({{"run", 0}}), kCode)).find("_start"), std::string::npos);
  EXPECT_NE(refusal(cat(kHead, kType, import("wasi_snapshot_preview1", "fd_write"), kFunction, exports({{"_start", 0}}), kCode)).find("memory"), std::string::npos);
}

TEST(WasmModule, EveryPrefixIsRefusedAndNoneIsReadBeyondItsEnd) {
  std::string whole = cat(kHead, kType, import("wasi_snapshot_preview1", "fd_write"), kFunction, kPage, kUsual);
  ASSERT_EQ(refusal(whole), "");
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_NE(refusal(std::string(whole.substr(0, n))), "") << n;
  // Sizes that are not true.
  for (std::size_t i = kHead.size(); i < whole.size(); ++i) {
    std::string wrong = whole;
    wrong[i] = '\xff';
    read_wasm_module(wrong).ok();
  }
}

// A call that is listed and not written would be an error of the linker, for a module that nobody tests with.
TEST(WasmModule, EveryListedCallIsWritten) {
  std::string layer = cat(warm_prelude("wasi_main.c"), warm_prelude("wasi_fds.c"), warm_prelude("wasi_paths.c"));
  for (std::string call : {"args_get", "fd_readdir", "path_open", "poll_oneoff", "sock_shutdown", "random_get", "path_symlink", "fd_fdstat_set_rights"}) {
    EXPECT_EQ(refusal(cat(kHead, kType, import("wasi_snapshot_preview1", call), kFunction, kPage, kUsual, kCode)), "") << call;
    EXPECT_NE(layer.find(cat("WASI(", call, ",")), std::string::npos) << call;
  }
}

}  // namespace
}  // namespace hotcell
