// Archives as a hostile cell would write them, and that a folder comes back as it was.
#include "cells/tar/tar.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace hotcell::cells {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name, link, content;
  char type = '0';
  unsigned mode = 0644;
  unsigned long long size = ~0ull;  // another than the content's
};

std::string octal(unsigned long long value, std::size_t digits) {
  std::string out(digits, '0');
  for (std::size_t i = digits; i-- > 0; value >>= 3) out[i] = static_cast<char>('0' + (value & 7));
  return out;
}

std::string block(const Entry& e) {
  std::string h(512, '\0');
  auto put = [&](std::size_t at, std::string_view text) { h.replace(at, text.size(), text); };
  put(0, std::string_view(e.name).substr(0, 100));
  put(100, octal(e.mode, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(e.size == ~0ull ? e.content.size() : e.size, 11));
  put(136, octal(0, 11));
  put(148, "        ");
  h[156] = e.type;
  put(157, std::string_view(e.link).substr(0, 100));
  put(257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (char c : h) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string(1, '\0') + " ");
  return h + e.content + std::string((512 - e.content.size() % 512) % 512, '\0');
}

std::string archive(const std::vector<Entry>& entries) {
  std::string out;
  for (const auto& e : entries) out += block(e);
  return out + std::string(1024, '\0');
}

class Tar : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hotcell-tar-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    top_ = name;
    fs::create_directory(top_ + "/in");
    std::ofstream(top_ + "/outside") << "untouched";
  }
  void TearDown() override { fs::remove_all(top_); }

  // 0, or the errno of the refusal. Whatever happened, nothing outside was touched.
  int unpack(const std::string& bytes, TarLinks links = TarLinks::kInside, uint64_t most = 1 << 20, uint64_t entries = 100, const char* asked = nullptr) {
    int in = ::memfd_create("tar", MFD_CLOEXEC);
    EXPECT_EQ(::write(in, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::lseek(in, 0, SEEK_SET);
    int folder = ::open((top_ + "/in").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fault_ = {};
    left_out_ = {};
    bool good = tar_read(in, folder, most, entries, links, fault_, &left_out_, asked);
    ::close(in);
    ::close(folder);
    EXPECT_EQ(text("outside"), "untouched");
    std::size_t beside = 0;
    for (const auto& e : fs::directory_iterator(top_)) beside += e.path().filename() != "in" && e.path().filename() != "outside";
    EXPECT_EQ(beside, 0u) << "something was written beside the folder";
    for (const auto& e : fs::recursive_directory_iterator(top_ + "/in")) EXPECT_EQ(e.path().filename().string().find(".hotcell-"), std::string::npos);
    EXPECT_EQ(good, fault_.err == 0);
    return good ? 0 : fault_.err;
  }
  std::string text(const std::string& name) const {
    std::ifstream in(top_ + "/" + name);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  std::string top_;
  TarFault fault_;
  TarLeftOut left_out_;
};

TEST_F(Tar, AFolderComesBackAsItWas) {
  fs::create_directories(top_ + "/in/a/.hidden/deep");
  std::string long_name(180, 'n');
  std::ofstream(top_ + "/in/a/.hidden/deep/" + long_name) << "long";
  std::ofstream(top_ + "/in/a/run.sh") << "#!/bin/sh\n";
  ::chmod((top_ + "/in/a/run.sh").c_str(), 0755);
  std::ofstream(top_ + "/in/a/empty");
  fs::create_symlink("../a/run.sh", top_ + "/in/a/link");
  ASSERT_EQ(::mkfifo((top_ + "/in/a/fifo").c_str(), 0600), 0);
  int out = ::memfd_create("tar", MFD_CLOEXEC);
  ASSERT_TRUE(tar_write(AT_FDCWD, (top_ + "/in/a").c_str(), "a", out, fault_)) << fault_.what;
  std::string bytes(static_cast<std::size_t>(::lseek(out, 0, SEEK_END)), '\0');
  ASSERT_EQ(::pread(out, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  ::close(out);
  fs::remove_all(top_ + "/in/a");
  ASSERT_EQ(unpack(bytes), 0) << fault_.what << fault_.name;
  EXPECT_EQ(text("in/a/.hidden/deep/" + long_name), "long");
  EXPECT_EQ(fs::status(top_ + "/in/a/run.sh").permissions(), fs::perms(0755));
  EXPECT_EQ(fs::file_size(top_ + "/in/a/empty"), 0u);
  EXPECT_EQ(fs::read_symlink(top_ + "/in/a/link"), "../a/run.sh");
  EXPECT_FALSE(fs::exists(top_ + "/in/a/fifo")) << "what is neither file, folder nor link is left out";
}

TEST_F(Tar, ANameThatClimbsIsRefused) {
  // The control: the same entry under a name that stays.
  EXPECT_EQ(unpack(archive({{"d/outside", "", "x"}})), 0);
  EXPECT_EQ(text("in/d/outside"), "x");
  EXPECT_EQ(unpack(archive({{"../outside", "", "x"}})), EPERM);
  EXPECT_STREQ(fault_.what, "a name that leads elsewhere");
  EXPECT_EQ(unpack(archive({{"d/../../outside", "", "x"}})), EPERM);
  EXPECT_EQ(unpack(archive({{"..", "", "", '5'}})), EPERM);
}

TEST_F(Tar, AnAbsoluteNameIsTakenInside) {
  std::string target = top_ + "/outside";
  EXPECT_EQ(unpack(archive({{target, "", "x"}})), 0);
  EXPECT_EQ(text("in" + target), "x");
}

TEST_F(Tar, NothingIsWrittenThroughALink) {
  // Even where links are taken as they come.
  EXPECT_EQ(unpack(archive({{"way", "..", "", '2'}, {"way/outside", "", "x"}}), TarLinks::kAny), ENOTDIR);
  EXPECT_STREQ(fault_.what, "a name that leads through a link or a file");
  // A link at the last place is replaced, not followed.
  EXPECT_EQ(unpack(archive({{"last", "../outside", "", '2'}, {"last", "", "new"}}), TarLinks::kAny), 0);
  EXPECT_EQ(text("in/last"), "new");
}

TEST_F(Tar, ALinkThatLeadsOutIsLeftOutAndTheRestIsThere) {
  for (auto [name, target] : {std::pair{"d/way", "file"}, {"d/way", "../d/file"}, {"d/e/way", "../file"}, {"d/e/way", ".."}, {"d/way", "."}, {"./way", "d/file"},
                              {"./d/way", "../x"}, {"d/way", "e/./f"}, {"d/way", "..."}, {"d/way", ".hidden"}}) {
    EXPECT_EQ(unpack(archive({{name, target, "", '2'}, {"after", "", "x"}})), 0) << target;
    EXPECT_EQ(left_out_.count, 0u) << name << " -> " << target;
    EXPECT_EQ(fs::read_symlink(top_ + "/in/" + name), target);
    fs::remove_all(top_ + "/in");
    fs::create_directory(top_ + "/in");
  }
  for (auto [name, target] : {std::pair{"way", "/etc/passwd"}, {"way", ".."}, {"way", "../outside"}, {"way", "x/../../outside"}, {"way", "./../outside"}, {"way", ""},
                              // Beside what was asked for: that was there before.
                              {"d/way", "../outside"}, {"d/way", ".."}, {"d/way", "../dd"}, {"way", "other"},
                              // Parts that are none do not count.
                              {"./way", "../outside"}, {"././way", "../outside"}, {"d//way", "../../outside"}, {"d/./way", "../../outside"}, {"d/way", "..//../outside"},
                              {".//way", ".././outside"}}) {
    EXPECT_EQ(unpack(archive({{name, target, "", '2'}, {"after", "", "x"}})), 0) << name << " -> " << target;
    EXPECT_EQ(left_out_.count, 1u) << name << " -> " << target;
    EXPECT_STREQ(left_out_.names[0], name);
    EXPECT_EQ(text("in/after"), "x") << "what comes later is there";
    EXPECT_FALSE(fs::exists(fs::symlink_status(top_ + "/in/" + name))) << name << " -> " << target;
    fs::remove_all(top_ + "/in");
    fs::create_directory(top_ + "/in");
  }
  // By way of another one: `here` stays, and `here/..` would be the folder above.
  EXPECT_EQ(unpack(archive({{"./here", ".", "", '2'}, {"./up", "here/..", "", '2'}})), 0);
  EXPECT_EQ(left_out_.count, 1u);
  // What claims to be behind one that was left out is inside, in a folder.
  EXPECT_EQ(unpack(archive({{"way", "..", "", '2'}, {"way/outside", "", "x"}})), 0);
  EXPECT_EQ(text("in/way/outside"), "x");
  // What was there under its name stays.
  EXPECT_EQ(unpack(archive({{"mine", "", "mine"}, {"mine", "/etc/passwd", "", '2'}})), 0);
  EXPECT_EQ(text("in/mine"), "mine");
}

// What was there before under other names is as it was, whatever a cell that lies sends.
TEST_F(Tar, OnlyWhatWasAskedForIsUnpacked) {
  auto asked = [&](const char* what, const std::vector<Entry>& entries) { return unpack(archive(entries), TarLinks::kInside, 1 << 20, 100, what); };
  std::ofstream(top_ + "/in/mine") << "mine";
  EXPECT_EQ(asked("d", {{"d/", "", "", '5', 0755}, {"d/file", "", "x"}, {"d/way", "file", "", '2'}}), 0);
  EXPECT_EQ(asked("d", {{"d", "", "x"}}), EISDIR) << "a file of that name is what was asked for, too";
  EXPECT_EQ(asked(".", {{"./", "", "", '5', 0755}, {"./file", "", "x"}, {"./way", "mine", "", '2'}}), 0);
  EXPECT_EQ(text("in/file"), "x");
  for (const Entry& e : {Entry{"mine", "", "theirs"}, Entry{"./mine", "", "theirs"}, Entry{"/mine", "", "theirs"}, Entry{"dd", "", "theirs"}, Entry{"d2/x", "", "theirs"},
                         Entry{"./d/x", "", "theirs"}, Entry{"/d/x", "", "theirs"}, Entry{"", "", "theirs"}, Entry{"./new", "mine", "", '2'}, Entry{"new/", "", "", '5', 0755}}) {
    EXPECT_EQ(asked("d", {e}), EPERM) << e.name;
    EXPECT_STREQ(fault_.what, "a name that was not asked for") << e.name;
    EXPECT_EQ(unpack(archive({e})) == 0, !e.name.empty() && e.name != "dd/") << "the control: " << e.name;
    fs::remove(top_ + "/in/new");
    std::ofstream(top_ + "/in/mine") << "mine";
  }
}

TEST_F(Tar, OfMuchThatIsLeftOutTheFirstAreNamedAndAllAreCounted) {
  std::vector<Entry> entries;
  for (int i = 0; i < 90; ++i) entries.push_back({"l" + std::to_string(i), "/etc/passwd", "", '2'});
  EXPECT_EQ(unpack(archive(entries)), 0);
  EXPECT_EQ(left_out_.count, 90u);
  EXPECT_STREQ(left_out_.names[TarLeftOut::kNamed - 1], "l4");
}

TEST_F(Tar, DevicesAndHardLinksAreRefused) {
  for (char type : {'1', '3', '4', '6', '7', 'S', 'M'}) {
    EXPECT_EQ(unpack(archive({{"thing", "../outside", "", type}})), EPERM) << type;
    EXPECT_FALSE(fs::exists(top_ + "/in/thing")) << type;
  }
}

TEST_F(Tar, InACellAFileHasItsFurtherNames) {
  EXPECT_EQ(unpack(archive({{"d/a", "", "content"}, {"e/b", "d/a", "", '1'}, {"c", "/d/a", "", '1'}, {"d/a", "d/a", "", '1'}}), TarLinks::kAny), 0)
      << fault_.what << fault_.name;
  EXPECT_EQ(text("in/e/b"), "content");
  EXPECT_EQ(fs::hard_link_count(top_ + "/in/d/a"), 3u);
  // What the archive brings under one of them later is another file.
  EXPECT_EQ(unpack(archive({{"c", "", "new"}}), TarLinks::kAny), 0);
  EXPECT_EQ(text("in/d/a"), "content");
  for (const char* target : {"../outside", "d/../../outside", "", "."}) EXPECT_EQ(unpack(archive({{"bad", target, "", '1'}}), TarLinks::kAny), EPERM) << target;
  EXPECT_EQ(unpack(archive({{"bad", "nothing", "", '1'}}), TarLinks::kAny), ENOENT);
  // Neither through a link nor of one.
  EXPECT_EQ(unpack(archive({{"way", "..", "", '2'}, {"bad", "way/outside", "", '1'}}), TarLinks::kAny), ENOTDIR);
  EXPECT_EQ(unpack(archive({{"d/link", "../../outside", "", '2'}, {"bad", "d/link", "", '1'}}), TarLinks::kAny), EPERM);
  EXPECT_FALSE(fs::exists(fs::symlink_status(top_ + "/in/bad")));
}

TEST_F(Tar, NoModeBringsSetIdBits) {
  Entry e{"tool", "", "x"};
  e.mode = 06755;
  ASSERT_EQ(unpack(archive({e})), 0);
  EXPECT_EQ(fs::status(top_ + "/in/tool").permissions(), fs::perms(0755));
}

TEST_F(Tar, HugeSizesAndTooManyEntriesAreRefused) {
  Entry big{"big", "", "x"};
  big.size = 077777777777;
  EXPECT_EQ(unpack(archive({big})), EFBIG);
  EXPECT_FALSE(fs::exists(top_ + "/in/big"));
  std::string base256 = block({"big", "", ""});
  base256[124] = static_cast<char>(0x80);
  for (int i = 1; i < 12; ++i) base256[static_cast<std::size_t>(124 + i)] = static_cast<char>(0xff);
  unsigned sum = 0;
  std::string blank = base256.replace(148, 8, "        ");
  for (char c : blank) sum += static_cast<unsigned char>(c);
  base256.replace(148, 8, octal(sum, 6) + std::string(1, '\0') + " ");
  EXPECT_EQ(unpack(base256 + std::string(1024, '\0')), EFBIG);
  // Together, and not each by itself.
  EXPECT_EQ(unpack(archive({{"a", "", std::string(600, 'a')}, {"b", "", std::string(600, 'b')}}), TarLinks::kInside, 1000), EFBIG);
  EXPECT_EQ(unpack(archive({{"a", "", ""}, {"b", "", ""}, {"c", "", ""}}), TarLinks::kInside, 1000, 2), EFBIG);
}

TEST_F(Tar, CutOrDamagedArchivesAreRefusedWithoutHalfAFile) {
  std::string whole = archive({{"file", "", std::string(2000, 'x')}});
  EXPECT_EQ(unpack(whole.substr(0, 512 + 700)), EPIPE);
  EXPECT_FALSE(fs::exists(top_ + "/in/file"));
  EXPECT_EQ(unpack(whole.substr(0, 100)), EPIPE);
  EXPECT_EQ(unpack(""), EPIPE);
  std::string flipped = whole;
  flipped[3] ^= 1;
  EXPECT_EQ(unpack(flipped), EBADMSG);
}

TEST_F(Tar, AFolderIsNotReplacedByAFileNorAFileByAFolder) {
  ASSERT_EQ(unpack(archive({{"d/x", "", "1"}})), 0);
  EXPECT_EQ(unpack(archive({{"d", "", "file"}})), EISDIR);
  EXPECT_EQ(unpack(archive({{"d/x/y", "", "2"}})), ENOTDIR);
  EXPECT_EQ(text("in/d/x"), "1");
}

}  // namespace
}  // namespace hotcell::cells
