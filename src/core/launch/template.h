// A process that has done what all cells of one policy have in common, and stamps them out (init_template.cc).
#pragma once
#include <deque>
#include <memory>
#include <optional>
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
  // Where the answer goes. It stays where it is until that has come.
  struct Stamp {
    bool awaited = false;
    std::optional<Result<Made>> made;
  };
  // Asks for a cell and does not wait: whoever makes many has other things to do meanwhile. Whether it was made is heard by
  // settle(), or by the end of its sockets. `cell_id`: its host id, where we are root. The plan's operations up to
  // kTemplateEnd are done already.
  Result<void> ask_for_cell(const ChildFds& fds, unsigned cell_id, bool will_wait, Stamp& stamp);
  // Returns when it is answered, if only by the template's death. Who does not want to wait gets what is there; if this is not,
  // the template is ended, and with it all that it was asked for.
  void settle(Stamp& stamp, bool wait = true);
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
  Result<Made> read_answer(bool wait);
  void give_up();
  sys::Child child_;
  sys::Fd socket_;
  std::vector<int> backs_;
  std::deque<Stamp*> asked_;  // answers come in this order
  unsigned spare_ = 0;
  bool dead_ = false, refuses_ = false;
  bool silent_ = false;  // an answer is missing: the next would be taken for it
};

}  // namespace hotcell
