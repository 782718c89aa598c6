#include "manager/reading.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell {

StartInspector inspector_of(const Result<Workers::Tools*>& tools) {
  return [tools]() -> Result<std::unique_ptr<InspectorChild>> {
    if (!tools.ok()) return tools.error();
    return tools.value()->inspector.start();
  };
}

template <typename T>
void Reading::read(std::function<Result<T>(Workers::Tools&)> question, std::function<void(Result<T>)> done) {
  // Half of the workers at most: reading must not keep programs from running.
  if (under_way_ * 2 >= std::max<std::size_t>(2, most_running_)) return done(make_error(ErrorCode::kLimit, "the server is busy; try again"));
  ++under_way_;
  // A worker may outlive us: it has nothing of ours but what is asked for on the loop's thread.
  workers_.run([this, alive = alive_, &loop = loop_, question = std::move(question), done = std::move(done)](Result<Workers::Tools*> tools) {
    auto answer = std::make_shared<Result<T>>(tools.ok() ? question(*tools.value()) : Result<T>(tools.error()));
    loop.post([this, alive, done, answer] {
      if (!*alive) return;
      --under_way_;
      done(std::move(*answer));
    });
  });
}

void Reading::verify(Executions::VerifyQuestion question, std::function<void(Verification)> done) {
  read<Verification>(
      [q = std::move(question)](Workers::Tools& tools) { return tools.verifier.verify(q.source, q.language, q.file, q.policy); },
      [done = std::move(done)](Result<Verification> verified) {
        if (verified.ok()) return done(std::move(verified).value());
        Verification v;
        v.unverifiable = true;
        Finding f;
        f.rule = "unverifiable", f.type = "dangerous_pattern", f.severity = "error";
        f.message = cat("it could not be verified: ", verified.error().message);
        v.findings.push_back(std::move(f));
        done(std::move(v));
      });
}

void Reading::inspect(InspectQuestion question, std::function<void(Result<std::string>)> done) {
  read<std::string>([q = std::move(question)](Workers::Tools& tools) { return tools.inspector.ask(q); }, std::move(done));
}

// A program has run for it already: it waits for its turn rather than be sent away.
void Reading::inspect_output(Report report, OutputOrder order, Executions::Inspected done) {
  auto held = std::make_shared<Report>(std::move(report));
  workers_.run([alive = alive_, &loop = loop_, held, order = std::move(order), done = std::move(done)](Result<Workers::Tools*> tools) {
    auto found = hotcell::inspect_output(*held, order, inspector_of(tools));
    loop.post([alive, held, found = std::move(found), done] {
      if (*alive) done(std::move(*held), found);
    });
  });
}

}  // namespace hotcell
