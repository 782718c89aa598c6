// Who comes next: clients take turns, however many each of them has waiting.
#pragma once
#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>

namespace hotcell {

template <typename T>
class FairQueue {
 public:
  std::size_t size() const { return size_; }
  std::size_t size(const std::string& client) const {
    auto it = waiting_.find(client);
    return it == waiting_.end() ? 0 : it->second.size();
  }

  void push(const std::string& client, T item) {
    auto& own = waiting_[client];
    if (own.empty()) turns_.push_back(client);
    own.push_back(std::move(item));
    ++size_;
  }

  // Of the next client that may have a turn; nothing when none may.
  template <typename May>
  std::optional<T> pop(May may) {
    auto turn = std::find_if(turns_.begin(), turns_.end(), may);
    if (turn == turns_.end()) return std::nullopt;
    std::string client = std::move(*turn);
    turns_.erase(turn);
    auto it = waiting_.find(client);
    T item = std::move(it->second.front());
    it->second.pop_front();
    --size_;
    if (it->second.empty()) waiting_.erase(it);
    else turns_.push_back(std::move(client));
    return item;
  }

  // True when it was there.
  template <typename Is>
  bool remove(const std::string& client, Is is) {
    auto it = waiting_.find(client);
    if (it == waiting_.end()) return false;
    auto found = std::find_if(it->second.begin(), it->second.end(), is);
    if (found == it->second.end()) return false;
    it->second.erase(found);
    --size_;
    if (it->second.empty()) {
      waiting_.erase(it);
      turns_.remove(client);
    }
    return true;
  }

 private:
  std::map<std::string, std::deque<T>> waiting_;
  std::list<std::string> turns_;
  std::size_t size_ = 0;
};

}  // namespace hotcell
