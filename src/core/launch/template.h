// A process that has done what all cells of one policy have in common, and stamps them out (init_template.cc).
#pragma once
#include <memory>

#include "core/launch/child.h"
#include "core/launch/plan.h"

namespace hotcell {

class Template {
 public:
  // Whether cells of this plan can come from one: nothing in it may belong to a single request.
  static bool suits(const Plan& plan, const Host& host);
  static Result<std::shared_ptr<Template>> create(const Plan& plan, const Host& host, int init_fd);
  ~Template();

  struct Made {
    sys::Child child;
    int net = -1;  // to be given back when the cell is gone
  };
  // `cell_id`: its host id, where we are root. The plan's operations up to kTemplateEnd are done already.
  Result<Made> make(const ChildFds& fds, unsigned cell_id);
  void give_back(int net);
  void stock_net();  // in idle time
  unsigned spare_nets() const { return spare_; }

 private:
  Template() = default;
  sys::Child child_;
  sys::Fd socket_;
  unsigned spare_ = 0;
};

}  // namespace hotcell
