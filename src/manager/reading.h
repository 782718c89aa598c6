// What is read for somebody beside the programs that run: sources, texts, the output of programs that ran elsewhere. On a worker's
// thread, in a child of its own; answered on the loop's.
#pragma once
#include <functional>
#include <memory>

#include "manager/executions.h"
#include "manager/inspect_output.h"
#include "manager/workers.h"

namespace hotcell {

class Reading {
 public:
  Reading(Workers& workers, Loop& loop, std::size_t most_running) : workers_(workers), loop_(loop), most_running_(most_running) {}
  ~Reading() { *alive_ = false; }  // whoever still waits is not answered
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  void verify(Executions::VerifyQuestion question, std::function<void(Verification)> done);
  void inspect(InspectQuestion question, std::function<void(Result<std::string>)> done);
  void inspect_output(Report report, OutputOrder order, Executions::Inspected done);

 private:
  template <typename T>
  void read(std::function<Result<T>(Workers::Tools&)> question, std::function<void(Result<T>)> done);

  Workers& workers_;
  Loop& loop_;
  std::size_t most_running_, under_way_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

StartInspector inspector_of(const Result<Workers::Tools*>& tools);

}  // namespace hotcell
