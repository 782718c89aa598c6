// Routes of lasting cells that keep something open: interpreters, and changes of files as they happen.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/strings.h"
#include "daemon/cells_fixture.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;

bool read_until(int fd, std::string& said, const std::string& wanted) {
  char buffer[4096];
  while (!has(said, wanted)) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) return false;
    said.append(buffer, static_cast<std::size_t>(n));
  }
  return true;
}

// The server's five minutes, unless the caller or a profile says less.
TEST_F(CellsRest, TheTimeOfACellIsItsProfilesOrItsCallers) {
  auto wall = [&](const std::string& body) {
    auto made = send("POST", "/api/v1/cells", body);
    EXPECT_EQ(made.status, 201) << made.body;
    auto at = made.body.find("\"wall_ns\":");
    return at == std::string::npos ? std::string() : made.body.substr(at + 10, made.body.find_first_of(",}", at) - at - 10);
  };
  EXPECT_EQ(wall(R"({"profile":"strict"})"), "10000000000");
  EXPECT_EQ(wall(R"({"limits":{"wall":"7s"}})"), "7000000000");
  EXPECT_EQ(wall("{}"), "300000000000");
}

TEST_F(CellsRest, InterpretersAreInterruptedRestartedAndEnded) {
  const std::string id = make();
  EXPECT_EQ(send("GET", cell(id, "/contexts")).body, R"({"contexts":[]})");
  auto made = send("POST", cell(id, "/contexts"), R"({"language":"python","name":"p"})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.body, R"({"name":"p","language":"python"})");
  EXPECT_EQ(send("POST", cell(id, "/contexts"), R"({"language":"python","name":"p"})").status, 409);
  EXPECT_EQ(send("POST", cell(id, "/contexts"), "{}").status, 400);
  EXPECT_TRUE(has(send("GET", cell(id, "/contexts")).body, "\"p\""));
  auto run = [&](const std::string& code) { return send("POST", cell(id, "/contexts/p/run"), cat("{\"code\":", server::json_string(code), "}")); };
  EXPECT_EQ(text_field(run("x = 20; x + 1").body, "value"), "21");

  // One that runs is interrupted, and its variables are kept.
  EXPECT_EQ(send("POST", cell(id, "/contexts/p/interrupt")).status, 409) << "it runs nothing";
  int fd = send_only("POST", cell(id, "/contexts/p/run"), R"j({"code":"open('/work/begun', 'w').close()\nwhile True: pass"})j");
  for (int i = 0; i < 400 && sh(id, "ls") != "begun\n"; ++i) std::this_thread::sleep_for(milliseconds(25));
  EXPECT_EQ(run("1").status, 409) << "one call at a time";
  EXPECT_EQ(send("POST", cell(id, "/contexts/p/interrupt")).status, 204);
  std::string said;
  EXPECT_TRUE(read_until(fd, said, "\"state\":\"interrupted\"")) << said;
  ::close(fd);
  EXPECT_EQ(text_field(run("x + 2").body, "value"), "22");

  // Anew it knows nothing of them.
  EXPECT_EQ(send("POST", cell(id, "/contexts/p/restart")).status, 204);
  auto fresh = run("x");
  EXPECT_EQ(text_field(fresh.body, "state"), "error") << fresh.body;
  EXPECT_TRUE(has(fresh.body, "NameError")) << fresh.body;

  EXPECT_EQ(send("DELETE", cell(id, "/contexts/p")).status, 204);
  EXPECT_EQ(send("GET", cell(id, "/contexts")).body, R"({"contexts":[]})");
  EXPECT_EQ(run("1").status, 404);
  for (const char* gone : {"/contexts/p/interrupt", "/contexts/p/restart"}) EXPECT_EQ(send("POST", cell(id, gone)).status, 404) << gone;
  EXPECT_EQ(send("DELETE", cell(id, "/contexts/p")).status, 404);
  expect_as_promised();
}

TEST_F(CellsRest, ChangesOfFilesAreToldAsTheyHappen) {
  const std::string id = make(R"({"files":{"deep/er/old.txt":"1"}})");
  EXPECT_EQ(send("GET", cell(id, "/files/watch")).status, 400);
  EXPECT_EQ(send("GET", cell(id, "/files/watch?path=../etc")).status, 400);
  EXPECT_EQ(send("GET", cell(id, "/files/watch?path=nowhere")).status, 404);
  for (const char* type : {"text/event-stream", "application/x-ndjson"}) {
    const std::string target = cell(id, "/files/watch?path=/work");
    int fd = send_only("GET", target, "", {{"Accept", type}});
    std::string said;
    ASSERT_TRUE(read_until(fd, said, R"({"change":"ready","path":"/work"})")) << said;
    sh(id, "echo 2 > deep/er/new.txt; mv deep/er/new.txt moved.txt; rm moved.txt; mkdir fresh");
    for (const char* change : {R"({"change":"created","path":"/work/deep/er/new.txt"})", R"({"change":"written","path":"/work/deep/er/new.txt"})",
                               R"({"change":"moved-from","path":"/work/deep/er/new.txt"})", R"({"change":"moved-to","path":"/work/moved.txt"})",
                               R"({"change":"removed","path":"/work/moved.txt"})", R"({"change":"created","path":"/work/fresh"})"})
      ASSERT_TRUE(read_until(fd, said, change)) << change << "\n" << said;
    // A folder that is new is watched, too.
    sh(id, "sleep 0.2; echo 3 > fresh/file");
    ASSERT_TRUE(read_until(fd, said, R"({"change":"written","path":"/work/fresh/file"})")) << said;
    EXPECT_TRUE(has(said, std::string("Content-Type: ") + type) || has(said, std::string("content-type: ") + type)) << said;
    ::close(fd);
    // Lines of JSON are no JSON, which is what that check would take them for.
    if (std::string_view(type) == "text/event-stream") note("GET", target, {.status = 200, .type = type, .body = said.substr(said.find("\r\n\r\n") + 4), .headers = {}});
    sh(id, "rm -r fresh");
  }
  // Whoever goes ends the watching.
  std::string left;
  for (int i = 0; i < 400 && left != "0\n"; ++i) {
    left = sh(id, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[w]atch /work'");
    std::this_thread::sleep_for(milliseconds(25));
  }
  EXPECT_EQ(left, "0\n");
  expect_as_promised();
}

}  // namespace
}  // namespace hotcell::testing
