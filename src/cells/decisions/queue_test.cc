#include "cells/decisions/queue.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "base/strings.h"
#include "cells/decisions/desk.h"
#include "store/store_testing.h"

namespace hotcell::cells {
namespace {

using std::chrono::seconds;
const WallTime kNow{seconds(1'800'000'000)};
const Action kMake{ActionClass::kCommand, "make all"};

DecisionQueue open_queue(const TestFolder& folder) {
  auto queue = DecisionQueue::open(folder / "decisions.db");
  if (!queue.ok()) ADD_FAILURE() << queue.error().message;
  return std::move(queue).value();
}
template <typename T>
T good(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().message;
    return T{};
  }
  return std::move(result).value();
}

TEST(DecisionQueue, AQuestionIsAskedOnceAndAnsweredOnce) {
  TestFolder folder;
  auto queue = open_queue(folder);
  std::string id = good(queue.ask("c-1", kMake, "nothing matches", kNow, seconds(60)));
  EXPECT_EQ(good(queue.ask("c-1", kMake, "nothing matches", kNow + seconds(5), seconds(60))), id);
  EXPECT_NE(good(queue.ask("c-2", kMake, "nothing matches", kNow, seconds(60))), id);
  EXPECT_NE(good(queue.ask("c-1", {ActionClass::kWrite, "make all"}, "", kNow, seconds(60))), id);
  Question q = good(queue.get(id, kNow));
  EXPECT_EQ(q.state, QuestionState::kPending);
  EXPECT_EQ(q.action.subject, "make all");
  EXPECT_EQ(q.reason, "nothing matches");
  EXPECT_EQ(q.expires, kNow + seconds(60));
  EXPECT_FALSE(q.answered.has_value());
  q = good(queue.answer(id, true, "anna", kNow + seconds(9)));
  EXPECT_EQ(q.state, QuestionState::kApproved);
  q = good(queue.get(id, kNow + seconds(1000)));  // a yes stays one
  EXPECT_EQ(q.state, QuestionState::kApproved);
  EXPECT_EQ(q.answered_by, "anna");
  EXPECT_EQ(q.answered, kNow + seconds(9));
  auto again = queue.answer(id, false, "berta", kNow + seconds(10));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message, cat(id, " was approved already by anna"));
  // Approved is over: the same asked anew is a new question.
  EXPECT_NE(good(queue.ask("c-1", kMake, "", kNow + seconds(11), seconds(60))), id);
}

TEST(DecisionQueue, NoAnswerInTimeIsANoForGood) {
  TestFolder folder;
  auto queue = open_queue(folder);
  std::string id = good(queue.ask("c-1", kMake, "", kNow, seconds(60)));
  EXPECT_EQ(good(queue.get(id, kNow + seconds(59))).state, QuestionState::kPending);
  EXPECT_EQ(good(queue.get(id, kNow + seconds(60))).state, QuestionState::kExpired);
  EXPECT_EQ(good(queue.get(id, kNow)).state, QuestionState::kExpired);  // also for a clock that goes back
  auto late = queue.answer(id, true, "anna", kNow + seconds(61));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().message, cat(id, " was not answered in time: the answer was no"));
  EXPECT_FALSE(queue.answer(id, true, "anna", kNow).ok());
  // Also when nobody looked before the answer came.
  std::string other = good(queue.ask("c-1", kMake, "", kNow, seconds(60)));
  EXPECT_NE(other, id);
  EXPECT_FALSE(queue.answer(other, true, "anna", kNow + seconds(60)).ok());
  EXPECT_EQ(good(queue.get(other, kNow)).state, QuestionState::kExpired);
}

TEST(DecisionQueue, ListsAreNewestFirstAndOfOneCellOrAll) {
  TestFolder folder;
  auto queue = open_queue(folder);
  auto a = good(queue.ask("c-1", {ActionClass::kCommand, "a"}, "", kNow, seconds(60)));
  auto b = good(queue.ask("c-2", {ActionClass::kCommand, "b"}, "", kNow, seconds(60)));
  auto c = good(queue.ask("c-1", {ActionClass::kRead, "c"}, "", kNow, seconds(600)));
  good(queue.answer(b, false, "x", kNow));
  auto ids = [&](std::string_view cell, bool pending, WallTime now) {
    std::vector<std::string> out;
    for (const auto& q : good(queue.list(cell, pending, now))) out.push_back(q.id);
    return out;
  };
  EXPECT_EQ(ids("", false, kNow), (std::vector{c, b, a}));
  EXPECT_EQ(ids("c-1", false, kNow), (std::vector{c, a}));
  EXPECT_EQ(ids("", true, kNow), (std::vector{c, a}));
  EXPECT_EQ(ids("", true, kNow + seconds(60)), (std::vector{c}));
}

TEST(DecisionQueue, GrantsHoldForTheirCellOrForAllUntilTheyExpire) {
  TestFolder folder;
  auto queue = open_queue(folder);
  DecisionPolicy policy;
  ASSERT_TRUE(queue.grant("c-1", {ActionClass::kCommand, "make *", kNow + seconds(10), "anna"}).ok());
  ASSERT_TRUE(queue.grant("", {ActionClass::kCommand, "ls *", std::nullopt, "anna"}).ok());
  EXPECT_EQ(good(queue.decide(policy, "c-1", kMake, kNow)).decision.answer, Answer::kAllow);
  EXPECT_EQ(good(queue.decide(policy, "c-2", kMake, kNow)).decision.answer, Answer::kAsk);
  EXPECT_EQ(good(queue.decide(policy, "c-2", {ActionClass::kCommand, "ls"}, kNow)).decision.answer, Answer::kAllow);
  auto late = good(queue.decide(policy, "c-1", kMake, kNow + seconds(10)));
  EXPECT_EQ(late.decision.answer, Answer::kAsk);
  EXPECT_EQ(good(queue.get(late.question, kNow + seconds(10))).state, QuestionState::kPending);
  EXPECT_EQ(good(queue.revoke("", "ls *")), 1u);
  EXPECT_EQ(good(queue.revoke("", "ls *")), 0u);
  EXPECT_EQ(good(queue.decide(policy, "c-2", {ActionClass::kCommand, "ls"}, kNow)).decision.answer, Answer::kAsk);
  // A protected path wins over a grant.
  policy.protected_paths = {".git"};
  ASSERT_TRUE(queue.grant("c-1", {ActionClass::kWrite, ".git", std::nullopt, "anna"}).ok());
  auto denied = good(queue.decide(policy, "c-1", {ActionClass::kWrite, ".git/config"}, kNow));
  EXPECT_EQ(denied.decision.answer, Answer::kDeny);
  EXPECT_EQ(denied.question, "");
}

TEST(DecisionQueue, ACellThatGoesTakesItsGrantsAndItsQuestionsAreANo) {
  TestFolder folder;
  auto queue = open_queue(folder);
  auto id = good(queue.ask("c-1", kMake, "", kNow, seconds(60)));
  auto other = good(queue.ask("c-2", kMake, "", kNow, seconds(60)));
  ASSERT_TRUE(queue.grant("c-1", {ActionClass::kCommand, "make *", std::nullopt, "anna"}).ok());
  ASSERT_TRUE(queue.grant("", {ActionClass::kCommand, "ls", std::nullopt, "anna"}).ok());
  ASSERT_TRUE(queue.forget_cell("c-1").ok());
  EXPECT_FALSE(queue.forget_cell("").ok());
  EXPECT_EQ(good(queue.get(id, kNow)).state, QuestionState::kDenied);
  EXPECT_EQ(good(queue.get(other, kNow)).state, QuestionState::kPending);
  EXPECT_EQ(good(queue.grants("c-1", kNow)).size(), 1u);
}

TEST(DecisionQueue, IdsAreNotToBeGuessedAndQuestionsAreBounded) {
  TestFolder folder;
  auto queue = open_queue(folder);
  std::set<std::string> ids;
  int asked = 0;
  for (; asked < 1000; ++asked) {
    auto id = queue.ask("c-1", {ActionClass::kCommand, cat("make ", asked)}, "", kNow, seconds(60));
    if (!id.ok()) {
      EXPECT_EQ(id.error().code, ErrorCode::kLimit);
      break;
    }
    EXPECT_EQ(id.value().size(), 22u);
    EXPECT_TRUE(ids.insert(id.value()).second);
  }
  EXPECT_EQ(asked, 256);
  EXPECT_TRUE(queue.ask("c-2", kMake, "", kNow, seconds(60)).ok());
  EXPECT_TRUE(queue.ask("c-1", kMake, "", kNow + seconds(60), seconds(60)).ok());  // those before have expired
  EXPECT_FALSE(queue.answer("q-none", true, "x", kNow).ok());
}

// Asks in a process of its own and waits there; the parent answers.
pid_t fork_asker(const TestFolder& folder, int tell) {
  pid_t pid = ::fork();
  if (pid != 0) return pid;
  auto queue = DecisionQueue::open(folder / "decisions.db");
  if (!queue.ok()) ::_exit(9);
  auto id = queue.value().ask("c-1", kMake, "", wall_now(), seconds(60));
  if (!id.ok() || ::write(tell, id.value().data(), id.value().size()) < 0) ::_exit(8);
  for (;;) {
    auto q = queue.value().get(id.value(), wall_now());
    if (!q.ok()) ::_exit(7);
    if (q.value().state != QuestionState::kPending) ::_exit(q.value().state == QuestionState::kApproved ? 0 : 1);
    ::usleep(2000);
  }
}

TEST(DecisionQueue, OneProcessAsksAndAnotherAnswers) {
  TestFolder folder;
  for (bool yes : {true, false}) {
    int pipes[2];
    ASSERT_EQ(::pipe2(pipes, O_CLOEXEC), 0);
    pid_t pid = fork_asker(folder, pipes[1]);
    ASSERT_GT(pid, 0);
    char text[64];
    ssize_t size = ::read(pipes[0], text, sizeof text);
    ASSERT_EQ(size, 22);
    auto queue = open_queue(folder);
    EXPECT_EQ(good(queue.answer({text, 22}, yes, "anna", wall_now())).state, yes ? QuestionState::kApproved : QuestionState::kDenied);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), yes ? 0 : 1);
    ::close(pipes[0]);
    ::close(pipes[1]);
  }
}

TEST(DecisionQueue, AnAskerThatIsKilledLeavesAQuestionThatExpires) {
  TestFolder folder;
  int pipes[2];
  ASSERT_EQ(::pipe2(pipes, O_CLOEXEC), 0);
  pid_t pid = fork_asker(folder, pipes[1]);
  ASSERT_GT(pid, 0);
  char text[64];
  ASSERT_EQ(::read(pipes[0], text, sizeof text), 22);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  auto queue = open_queue(folder);
  std::string id(text, 22);
  EXPECT_EQ(good(queue.get(id, wall_now())).state, QuestionState::kPending);
  EXPECT_EQ(good(queue.list("", true, wall_now() + seconds(3600))).size(), 0u);
  EXPECT_EQ(good(queue.get(id, wall_now())).state, QuestionState::kExpired);
  EXPECT_FALSE(queue.answer(id, true, "anna", wall_now()).ok());
  ::close(pipes[0]);
  ::close(pipes[1]);
}

TEST(DecisionQueue, ManyProcessesAskAtOnceAndNoneIsLost) {
  TestFolder folder;
  { auto made = open_queue(folder); }
  std::vector<pid_t> children;
  for (int w = 0; w < 4; ++w) {
    pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      auto queue = DecisionQueue::open(folder / "decisions.db");
      if (!queue.ok()) ::_exit(1);
      for (int i = 0; i < 20; ++i)
        if (!queue.value().ask(cat("c-", w), {ActionClass::kCommand, cat("make ", i / 2)}, "", kNow, seconds(60)).ok()) ::_exit(2);
      ::_exit(0);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  auto queue = open_queue(folder);
  EXPECT_EQ(good(queue.list("", true, kNow)).size(), 40u);
}

TEST(DecisionDesk, EveryAnswerGrantAndRevocationIsInTheAuditLog) {
  TestFolder folder;
  ASSERT_EQ(::mkdir((folder / "cells").c_str(), 0700), 0);
  auto opened = DecisionDesk::open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  DecisionDesk& desk = opened.value();
  auto yes = good(desk.queue().ask("c-1", kMake, "nothing matches", wall_now(), seconds(60)));
  auto no = good(desk.queue().ask("c-1", {ActionClass::kCommand, "curl x\nforged"}, "", wall_now(), seconds(60)));
  EXPECT_EQ(good(desk.answer(std::string_view(yes).substr(0, 12), true, "anna")).id, yes);  // its beginning is enough
  EXPECT_EQ(good(desk.answer(no, false, "anna")).state, QuestionState::kDenied);
  EXPECT_FALSE(desk.answer(no, true, "anna").ok());
  EXPECT_FALSE(desk.answer("q-", true, "anna").ok());
  ASSERT_TRUE(desk.grant("c-1", {ActionClass::kCommand, "make *", wall_now() + seconds(60), "anna"}).ok());
  EXPECT_FALSE(desk.grant("c-1", {ActionClass::kWrite, "a//b", std::nullopt, "anna"}).ok());
  EXPECT_FALSE(desk.grant("c-1", {ActionClass::kCommand, " ", std::nullopt, "anna"}).ok());
  EXPECT_EQ(good(desk.revoke("c-1", "make *", "berta")), 1u);
  EXPECT_FALSE(desk.revoke("c-1", "make *", "berta").ok());
  auto lines = good(read_audit(folder.path(), 0, 10));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_NE(lines[3].json.find("approved"), std::string::npos) << lines[3].json;
  EXPECT_NE(lines[3].json.find(yes), std::string::npos);
  EXPECT_NE(lines[2].json.find("refused"), std::string::npos);
  EXPECT_NE(lines[1].json.find("granted"), std::string::npos);
  EXPECT_NE(lines[0].json.find("revoked"), std::string::npos);
  EXPECT_NE(lines[0].json.find("berta"), std::string::npos);
  EXPECT_TRUE(good(verify_audit(folder.path())).ok);
}

}  // namespace
}  // namespace hotcell::cells
