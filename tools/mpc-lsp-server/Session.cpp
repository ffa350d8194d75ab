// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc-lsp-server/Session.h"
#include "tools/mpc-lsp-server/Frames.h"
#include "tools/mpc-lsp-server/PrecisionHover.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using llvm::StringRef;
namespace json = llvm::json;

namespace mpc::lsp {

static std::string textOf(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

static std::string uriOf(const json::Object *parameters) {
  const json::Object *document = parameters ? parameters->getObject("textDocument") : nullptr;
  const auto uri = document ? document->getString("uri") : std::nullopt;
  return uri ? uri->str() : "";
}

void Session::toEditor(std::string message) { (void)writeFrame(editor, message); }
void Session::toServer(std::string message) { (void)writeFrame(server, message); }

void Session::publishProblem(StringRef uri) {
  const std::string problem = documents.problemOf(uri);
  if (problem.empty())
    return;
  const json::Object start{{"line", 0}, {"character", 0}};
  json::Object diagnostic{
      {"range", json::Object{{"start", json::Object(start)}, {"end", json::Object(start)}}},
      {"severity", 1},
      {"source", "mpc"},
      {"message", problem}};
  toEditor(textOf(
      json::Object{{"jsonrpc", "2.0"},
                   {"method", "textDocument/publishDiagnostics"},
                   {"params", json::Object{{"uri", uri},
                                           {"diagnostics", json::Array{std::move(diagnostic)}}}}}));
}

void Session::rememberHover(const json::Object &message) {
  const json::Value *id = message.get("id");
  const json::Object *parameters = message.getObject("params");
  const json::Object *place = parameters ? parameters->getObject("position") : nullptr;
  if (!id || !place)
    return;
  hovers[textOf(*id)] = {
      uriOf(parameters),
      llvm::lsp::Position(static_cast<int>(place->getInteger("line").value_or(0)),
                          static_cast<int>(place->getInteger("character").value_or(0)))};
}

void Session::followEditor(std::FILE *messages) {
  while (std::optional<std::string> text = readFrame(messages)) {
    llvm::Expected<json::Value> message = json::parse(*text);
    json::Object *object = message ? message->getAsObject() : nullptr;
    if (!object) {
      llvm::consumeError(message.takeError());
      toServer(std::move(*text)); // which says what is wrong with it
      continue;
    }
    const StringRef method = object->getString("method").value_or("");
    json::Object *parameters = object->getObject("params");
    const std::string uri = uriOf(parameters);
    std::lock_guard<std::mutex> lock(mutex);
    if (method == "textDocument/didOpen" && parameters)
      documents.open(*parameters);
    else if (method == "textDocument/didChange" && parameters)
      documents.change(*parameters);
    else if (method == "textDocument/didClose")
      documents.close(uri);
    else if (method == "textDocument/hover")
      rememberHover(*object);
    if (method.starts_with("textDocument/did"))
      publishProblem(uri);
    toServer(textOf(*message));
  }
}

bool Session::completeHover(json::Object &message) {
  const json::Value *id = message.get("id");
  auto question = id && !message.get("method") ? hovers.find(textOf(*id)) : hovers.end();
  if (question == hovers.end())
    return false;
  const Question asked = question->second;
  hovers.erase(question);
  json::Object *result = message.getObject("result");
  json::Object *contents = result ? result->getObject("contents") : nullptr;
  const auto value = contents ? contents->getString("value") : std::nullopt;
  if (!value)
    return false;
  const std::string more = describePrecision(documents.textOf(asked.uri), asked.position, registry);
  if (!more.empty())
    (*contents)["value"] = more + "---\n\n" + value->str();
  return true;
}

void Session::followServer(std::FILE *messages) {
  while (std::optional<std::string> text = readFrame(messages)) {
    llvm::Expected<json::Value> message = json::parse(*text);
    json::Object *object = message ? message->getAsObject() : nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    if (!object) {
      llvm::consumeError(message.takeError());
      toEditor(std::move(*text));
      continue;
    }
    if (object->getString("method") == StringRef("textDocument/publishDiagnostics")) {
      const json::Object *parameters = object->getObject("params");
      const StringRef uri = parameters ? parameters->getString("uri").value_or("") : "";
      if (!documents.problemOf(uri).empty())
        continue; // what it finds is the empty text that it got instead
    }
    toEditor(completeHover(*object) ? textOf(*message) : std::move(*text));
  }
}

static int failSession(const char *what) {
  llvm::WithColor::error(llvm::errs()) << what << ": " << std::strerror(errno) << "\n";
  return 1;
}

int runSession(const mlir::DialectRegistry &registry, llvm::function_ref<int()> runServer) {
  int questions[2], answers[2];
  if (::pipe(questions) != 0 || ::pipe(answers) != 0)
    return failSession("cannot make a pipe");
  const pid_t child = ::fork();
  if (child < 0)
    return failSession("cannot start a process");
  if (child == 0) {
    ::dup2(questions[0], STDIN_FILENO);
    ::dup2(answers[1], STDOUT_FILENO);
    for (int descriptor : {questions[0], questions[1], answers[0], answers[1]})
      ::close(descriptor);
    return runServer();
  }
  ::close(questions[0]);
  ::close(answers[1]);
  std::signal(SIGPIPE, SIG_IGN); // an end of either side is seen where it is read
  Session session(STDOUT_FILENO, questions[1], registry);
  std::thread([&] {
    session.followEditor(stdin);
    ::close(questions[1]);
  }).detach();
  session.followServer(::fdopen(answers[0], "r"));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (!WIFEXITED(status))
    llvm::WithColor::error(llvm::errs())
        << "MLIR's language server ended by signal " << WTERMSIG(status)
        << "; please report it, with the file that was open\n";
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1); // the other thread still reads
}

} // namespace mpc::lsp
