// SPDX-License-Identifier: Apache-2.0
// A fake nvidia-cuda-mps-control and nvidia-cuda-mps-server; the program's name decides which.
// "-d" starts a daemon, and the daemon starts a server. Without "-d" the program sends its standard
// input to the daemon, one command a line. Under the name nvidia-smi it does nothing and succeeds.
//
// The daemon listens at the socket "control" in the pipe directory. In the directory above it, the
// daemon appends start and commands to "told.log", and reads these files:
//   refuse  the daemon does not start
//   hang    the daemon answers no command while the file exists
//   clients the daemon's answer to get_client_list
// Daemon and server end when the pipe directory is gone, so no test leaves them running.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

constexpr int kGlanceMs = 20;

std::string Variable(const char* name) {
  const char* value = getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}
std::string Pipe() {
  return Variable("CUDA_MPS_PIPE_DIRECTORY");
}
bool Exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}
std::string Beside(const std::string& name) {
  const std::string pipe = Pipe();
  return pipe.substr(0, pipe.rfind('/') + 1) + name;
}
void Note(const std::string& line) {
  std::ofstream(Beside("told.log"), std::ios::app) << line << "\n";
}

sockaddr_un Address() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = Pipe() + "/control";
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

int Socket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

std::string ReadLine(int fd) {
  std::string line;
  char c = 0;
  while (read(fd, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

int Serve() {
  while (Exists(Pipe())) poll(nullptr, 0, kGlanceMs);
  return 0;
}

pid_t StartServer(const std::string& self) {
  const std::string server = self.substr(0, self.rfind('/') + 1) + "nvidia-cuda-mps-server";
  const pid_t pid = fork();
  if (pid == 0) {
    execlp(server.c_str(), server.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  return pid;
}

std::string AnswerTo(const std::string& command, pid_t server, std::string& percentage) {
  if (command.empty()) return "";  // the client only tried to connect
  if (command == "get_default_active_thread_percentage") return percentage + ".0\n";
  if (command == "get_server_list") return std::to_string(server) + "\n";
  if (command.rfind("get_client_list ", 0) == 0) {
    std::ifstream clients(Beside("clients"));
    return {std::istreambuf_iterator<char>(clients), {}};
  }
  Note(command);
  const std::string set = "set_default_active_thread_percentage ";
  if (command.rfind(set, 0) == 0) percentage = command.substr(set.size());
  return "";
}

void RunDaemon(int listener, pid_t server) {
  std::string percentage = "100";
  while (Exists(Pipe())) {
    pollfd readable{listener, POLLIN, 0};
    if (Exists(Beside("hang")) || poll(&readable, 1, kGlanceMs) <= 0) {
      poll(nullptr, 0, 1);
      continue;
    }
    const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const std::string command = ReadLine(client);
    const std::string answer = AnswerTo(command, server, percentage);
    if (write(client, answer.data(), answer.size()) < 0) Note("no client");
    close(client);
    if (command == "quit") {
      kill(server, SIGKILL);
      return;
    }
  }
}

int Daemonise(const std::string& self) {
  if (Exists(Beside("refuse"))) {
    std::cout << "cannot start: refused\n";
    return 1;
  }
  const sockaddr_un address = Address();
  unlink(address.sun_path);
  const int listener = Socket();
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 16) != 0) {
    std::cout << "cannot listen at " << address.sun_path << "\n";
    return 1;
  }
  if (fork() != 0) return 0;
  setsid();
  const pid_t server = StartServer(self);
  Note("start CUDA_VISIBLE_DEVICES=" + Variable("CUDA_VISIBLE_DEVICES") +
       " server=" + std::to_string(server));
  RunDaemon(listener, server);
  return 0;
}

int Ask() {
  std::string command;
  while (std::getline(std::cin, command)) {
    const sockaddr_un address = Address();
    const int daemon = Socket();
    if (connect(daemon, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      std::cout << "Cannot find MPS control daemon process\n";
      return 1;
    }
    command += "\n";
    if (write(daemon, command.data(), command.size()) < 0) return 1;
    char c = 0;
    while (read(daemon, &c, 1) == 1) std::cout << c;
    close(daemon);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): one thread
  const std::string self = argv[0];
  if (self.ends_with("nvidia-smi")) return 0;
  if (self.ends_with("-server")) return Serve();
  return argc > 1 && std::strcmp(argv[1], "-d") == 0 ? Daemonise(self) : Ask();
}
