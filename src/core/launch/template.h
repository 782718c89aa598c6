// A process that has done what all cells of one policy have in common, and stamps them out (init_template.cc).
#pragma once
#include <memory>
#include <vector>

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
  Result<Made> make(const ChildFds& fds, unsigned cell_id, bool will_wait);
  void give_back(int net);  // its cell is gone; the template hears of it with the next request, or by flush()
  void flush();
  bool has_news() const { return !dead_ && !backs_.empty(); }
  bool dead() const { return dead_; }       // it did not answer: make another
  bool refuses() const { return refuses_; }  // it could not clone
  void stock_net();  // in idle time
  bool wants_net(unsigned least) const { return !dead_ && spare_ < least; }

 private:
  Template() = default;
  TemplateRequest ask(TemplateAsk what);
  sys::Child child_;
  sys::Fd socket_;
  std::vector<int> backs_;
  unsigned spare_ = 0;
  bool dead_ = false, refuses_ = false;
};

}  // namespace hotcell
