#include "server/http/door_words.h"

#include <gtest/gtest.h>

#include "server/http/exchange.h"

namespace hotcell::server {
namespace {

TEST(DoorWords, AnOptionBecomesWhatARequestOrTheOwnerCanSay) {
  EXPECT_EQ(door_words("--allow-domain a.org"), R"(allow_domains: ["a.org"])");
  EXPECT_EQ(door_words("remove --block-domain *.a.org"), R"(remove "*.a.org" from block_domains)");
  EXPECT_EQ(door_words("--allow-domain ::1 --allow-private ::1"), R"(allow_domains: ["::1"] and network.private: ["::1"] in the daemon's configuration)");
  EXPECT_EQ(door_words("--allow-domain a.org for hotcell cell create"), R"(allow_domains: ["a.org"] when the cell is made)");
  EXPECT_EQ(door_words("--network-rules allowlist"), "network: {rules: allowlist} in the profile");
  EXPECT_EQ(door_words("--network-time"), "network.time in the daemon's configuration");
  EXPECT_EQ(door_words("--read /data"), R"(filesystem: {read: ["/data"]} in the profile, within paths.read of the daemon's configuration)");
  EXPECT_EQ(door_words(R"(--write '/a b/it'\''s')"), R"(filesystem: {write: ["/a b/it's"]} in the profile, within paths.write of the daemon's configuration)");
  EXPECT_EQ(door_words("add --read or --write /tmp/x"),
            R"(add filesystem.read in the profile or filesystem: {write: ["/tmp/x"]} in the profile, within paths.write of the daemon's configuration)");
  EXPECT_EQ(door_words("run as root, or --backend landlock"), "run as root, or backend: landlock in the daemon's configuration");
  EXPECT_EQ(door_words("EAGAIN (see --processes)"), "EAGAIN (see limits.processes)");
  EXPECT_EQ(door_words("--from: /x is not a folder"), "from: /x is not a folder");
  EXPECT_EQ(door_words("x does not hold cpu (--waive cpu does without)"), "x does not hold cpu (hotcell run --waive cpu does without)");
  EXPECT_EQ(door_words("only hotcell run --waive, on this host"), "only hotcell run --waive, on this host");
}

TEST(DoorWords, WithoutARequestTheConfigurationIsMeant) {
  EXPECT_EQ(door_words("--allow-domain a.org", Hosts::kOfConfiguration), R"(network.allow: ["a.org"] in the daemon's configuration)");
  EXPECT_EQ(door_words("remove --block-domain a.org", Hosts::kOfConfiguration), R"(remove "a.org" from network.block in the daemon's configuration)");
  EXPECT_EQ(door_words("--network-bytes", Hosts::kOfConfiguration), "network.bytes in the daemon's configuration");
}

TEST(DoorWords, ACommandBecomesWhatItDoes) {
  EXPECT_EQ(door_words("a is stopped (by request); hotcell cell start a"), "a is stopped (by request); start it");
  EXPECT_EQ(door_words("a is paused; hotcell cell resume a"), "a is paused; resume it");
  EXPECT_EQ(door_words("there is no cell a; see hotcell cell list"), "there is no cell a; see the list of cells");
  EXPECT_EQ(door_words("limit (3) reached; remove one (hotcell cell rm, hotcell cell clean)"), "limit (3) reached; remove one");
  EXPECT_EQ(door_words("a has one phase only; a cell is made for two with cell create --network proxy --phases"),
            "a has one phase only; a cell is made for two with network and phases");
  EXPECT_EQ(door_words("--phases needs --network proxy: with network none there is no door to shut"),
            "phases needs network: with network none there is no door to shut");
  EXPECT_EQ(door_words("give them again: hotcell cell start a --secret T@h.org --secret U@h.org"),
            R"(give them again: start it with secrets: {"T@h.org": VALUE} and secrets: {"U@h.org": VALUE})");
  EXPECT_EQ(door_words("context py is gone: it was closed; hotcell cell context a restart py"), "context py is gone: it was closed; restart it");
  EXPECT_EQ(door_words("begun then); the next hotcell cell apply a tries again, with --force it is given up"),
            "begun then); the next apply tries again, with force it is given up");
}

TEST(DoorWords, WhatIsNotOursStays) {
  for (const char* text : {"", "no option here", R"(unknown field "--read /x")", "a--read b", "--readonly x", "-- x", "--", "the cell has ended", R"("an open one --read /x)",
                           "ls --force-color"})
    EXPECT_EQ(door_words(text), text);
}

TEST(DoorWords, AMemberOfATextIsFoundAndNothingElse) {
  EXPECT_EQ(door_words_in(R"({"how":"--allow-domain a.org","why":"--allow-domain b.org","x":"\"how\":\"--force\""})", "how"),
            R"({"how":"allow_domains: [\"a.org\"]","why":"--allow-domain b.org","x":"\"how\":\"--force\""})");
  EXPECT_EQ(door_words_in(R"([{"how":""},{"how":"--force"},{"how":"a\\b --force"},{"how":"--dry-run"}])", "how"),
            R"([{"how":""},{"how":"force"},{"how":"a\\b --force"},{"how":"dry_run"}])");
}

TEST(DoorWords, EveryErrorOfTheServerSpeaksThem) {
  EXPECT_EQ(error_response(400, "it was made without --from", "invalid").body, R"({"message":"it was made without from","reason":"invalid"})");
}

}  // namespace
}  // namespace hotcell::server
