#include "trireme/comm/communicator.hpp"

#include <algorithm>
#include <exception>
#include <optional>

#include "trireme/base/error.hpp"

namespace trireme::comm {
namespace {

constexpr int text_tag = 7001;

void send_text(Communicator& communicator, const std::string& text, int destination) {
  const std::uint64_t length = text.size();
  communicator.send(&length, sizeof(length), destination, text_tag)->wait();
  communicator.send(text.data(), length, destination, text_tag)->wait();
}

std::string receive_text(Communicator& communicator, int source) {
  std::uint64_t length = 0;
  communicator.receive(&length, sizeof(length), source, text_tag)->wait();
  std::string text(length, '\0');
  communicator.receive(text.data(), length, source, text_tag)->wait();
  return text;
}

struct Failure {
  ExitCode code;
  std::string text;
};

/// Runs the work; what it throws comes back as a value, so that all ranks can hear of it. But a failure of the library
/// goes on: the others may never come to where they would hear of it.
std::optional<Failure> attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const CommunicationError&) {
    throw;
  } catch (const Error& error) {
    return Failure{error.code(), error.what()};
  } catch (const std::exception& error) {
    return Failure{ExitCode::system_error, error.what()};
  }
  return std::nullopt;
}

[[noreturn]] void throw_again(const Failure& failure) {
  switch (failure.code) {
    case ExitCode::input_error:
      throw InputError(failure.text);
    case ExitCode::system_error:
      throw SystemError(failure.text);
    case ExitCode::numerical_stop:
      throw NumericalError(failure.text);
    default:
      throw Error(failure.code, failure.text);
  }
}

/// Throws the failure of rank `root` on every rank.
[[noreturn]] void throw_everywhere(Communicator& communicator, std::optional<Failure> failure, int root) {
  auto code = static_cast<std::int64_t>(failure ? failure->code : ExitCode::finished);
  std::string text = failure ? failure->text : "";
  communicator.broadcast(&code, sizeof(code), root);
  communicator.broadcast_text(text, root);
  throw_again({static_cast<ExitCode>(code), text});
}

}  // namespace

std::vector<std::string> Communicator::all_gather_text(const std::string& mine) {
  const std::int64_t my_length = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(size()));
  all_gather(&my_length, sizeof(my_length), lengths.data());

  const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
  std::string padded = mine;
  padded.resize(longest);
  std::string all(longest * lengths.size(), '\0');
  all_gather(padded.data(), longest, all.data());

  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    texts.push_back(all.substr(rank * longest, static_cast<std::size_t>(lengths[rank])));
  }
  return texts;
}

std::vector<std::string> Communicator::gather_text(const std::string& mine, int root) {
  std::vector<std::string> texts;
  if (rank() != root) {
    send_text(*this, mine, root);
    return texts;
  }
  for (int source = 0; source < size(); ++source) {
    texts.push_back(source == root ? mine : receive_text(*this, source));
  }
  return texts;
}

std::string Communicator::scatter_text(const std::vector<std::string>& texts, int root) {
  if (rank() != root) return receive_text(*this, root);
  for (int destination = 0; destination < size(); ++destination) {
    if (destination != root) send_text(*this, texts[static_cast<std::size_t>(destination)], destination);
  }
  return texts[static_cast<std::size_t>(root)];
}

void Communicator::broadcast_text(std::string& text, int root) {
  std::uint64_t length = text.size();
  broadcast(&length, sizeof(length), root);
  text.resize(length);
  broadcast(text.data(), length, root);
}

std::int64_t Communicator::all_reduce_sum(std::int64_t value) {
  all_reduce_sum(std::span(&value, 1));
  return value;
}

double Communicator::all_reduce_max(double value) {
  all_reduce_max(std::span(&value, 1));
  return value;
}

bool Communicator::any(bool value) {
  return all_reduce_sum(static_cast<std::int64_t>(value)) > 0;
}

void on_root(Communicator& communicator, const std::function<void()>& work) {
  const bool is_root = communicator.rank() == 0;
  const std::optional<Failure> failure = is_root ? attempt(work) : std::nullopt;
  auto failed = static_cast<std::uint8_t>(failure.has_value());
  communicator.broadcast(&failed, sizeof(failed), 0);
  if (failed != 0) throw_everywhere(communicator, failure, 0);
}

void on_all(Communicator& communicator, const std::function<void()>& work) {
  const std::optional<Failure> failure = attempt(work);
  // The lowest failing rank has the largest of these numbers; 0 means that none failed.
  const int mark = failure ? communicator.size() - communicator.rank() : 0;
  const int largest = static_cast<int>(communicator.all_reduce_max(static_cast<double>(mark)));
  if (largest != 0) throw_everywhere(communicator, failure, communicator.size() - largest);
}

}  // namespace trireme::comm
