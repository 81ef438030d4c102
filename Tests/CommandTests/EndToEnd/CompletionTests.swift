import Foundation
import Testing

@testable import Command

/// The completion scripts, in the shells they are for.
@Suite struct CompletionTests {
  private func script(_ shell: String) throws -> (bench: Workbench, path: String) {
    let bench = try Workbench()
    try bench.write("script", try bench.run(["completions", shell]).outputText)
    return (bench, bench.path("script"))
  }

  @Test("The shell accepts the script of completions", arguments: ["bash", "zsh", "fish"])
  func theShellAcceptsIt(shell: String) throws {
    let (bench, path) = try script(shell)
    defer { withExtendedLifetime(bench) {} }
    guard let result = try Tools.run(shell, ["-n", path]) else { return }
    #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
  }

  /// Each script has every command, option and listed value.
  @Test(arguments: ["bash", "zsh", "fish"])
  func nothingIsLeftOut(shell: String) throws {
    let text = try SheafProcess.run(["completions", shell]).outputText
    for command in CommandTable.all {
      #expect(text.contains(command.name))
      for option in command.options {
        #expect(text.contains(shell == "fish" ? "-l \(option.name)" : "--\(option.name)"))
        for word in option.completion.words { #expect(text.contains(word)) }
      }
    }
  }

  /// What bash offers for `words`, of which the last one is being typed.
  private func bash(_ words: [String], in bench: Workbench) throws -> [String]? {
    let driver = """
      cd "$1"; source ./script; shift
      complete -p sheaf > /dev/null || exit 1
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
      _sheaf
      ((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
      exit 0
      """
    let folder = URL(fileURLWithPath: bench.path("script")).deletingLastPathComponent().path
    guard let result = try Tools.run("bash", ["-c", driver, "bash", folder] + words) else {
      return nil
    }
    #expect(result.status == 0 && result.error.isEmpty, "\(words): \(result.errorText)")
    return result.outputText.split(separator: "\n").map(String.init).sorted()
  }

  @Test("bash completes commands, options and values")
  func bashCompletes() throws {
    let (bench, _) = try script("bash")
    try bench.write("a b.csv", "")
    try bench.write("apps.csv", "")
    for (words, expected) in [
      (["sheaf", "imp"], ["import"]),
      (["sheaf", "--v"], ["--version"]),
      (["sheaf", "import", "--dura"], ["--durability"]),
      (["sheaf", "import", "apps.csv", "--on-c"], ["--on-conflict"]),
      (["sheaf", "import", "--durability", ""], ["full", "group", "none"]),
      (["sheaf", "import", "--durability", "=", "g"], ["group"]),
      (["sheaf", "import", "--durability", "="], ["full", "group", "none"]),
      (["sheaf", "import", "--into", "ap"], ["apps.csv"]),
      (["sheaf", "import", "a "], ["a b.csv"]),
      (["sheaf", "import", "a"], ["a b.csv", "apps.csv"]),
      (["sheaf", "import", "--null", "a"], []),
      (["sheaf", "export", "apps.csv", "--format", "j"], ["jsonl"]),
      (["sheaf", "export", "apps.csv", "--parsers"], []),
      (["sheaf", "help", "comp"], ["compact", "completions"]),
      (["sheaf", "completions", ""], ["bash", "fish", "zsh"]),
      (["sheaf", "nonsense", "a"], []),
      (["sheaf", "import", "--", "a"], ["a b.csv", "apps.csv"]),
    ] {
      guard let found = try bash(words, in: bench) else { return }
      #expect(found == expected, "\(words)")
    }
    let all = try bash(["sheaf", ""], in: bench)
    #expect(Set(all ?? []) == Set(CommandTable.all.map(\.name) + ["--help", "--version"]))
    for command in CommandTable.all {
      let options = try bash(["sheaf", command.name, "--"], in: bench)
      #expect(Set(options ?? []) == Set(command.options.map { "--" + $0.name } + ["--help"]))
    }
  }

  @Test("fish completes commands, options and values")
  func fishCompletes() throws {
    let (bench, path) = try script("fish")
    try bench.write("apps.csv", "")
    for (line, expected) in [
      ("sheaf imp", ["import"]), ("sheaf import --dura", ["--durability"]),
      ("sheaf import --durability g", ["group"]),
      ("sheaf export --format ", ["csv", "jsonl"]),
      ("sheaf completions ", ["bash", "fish", "zsh"]),
    ] {
      let words = ["--no-config", "-c", "source $argv[1]; complete -C \"$argv[2]\"", path, line]
      let home = ["HOME": bench.path("."), "XDG_DATA_HOME": bench.path("data")]
      guard let result = try Tools.run("fish", words, environment: home) else { return }
      let found = result.outputText.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
      #expect(found.sorted() == expected, "\(line): \(result.errorText)")
    }
  }

  /// A script cannot ask zsh's completion system: the test types into a terminal of zsh's own.
  @Test func zshCompletes() throws {
    let (bench, path) = try script("zsh")
    defer { withExtendedLifetime(bench) {} }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let driver = """
      zmodload zsh/zpty || exit 3
      zpty shell "TERM=dumb zsh -f -i"
      zpty -w shell "PS1=; cd $1; autoload -Uz compinit; compinit -u -D; source ./script; LISTMAX=999"
      zpty -w shell "bindkey '^X' list-choices; print READY"
      local piece all; while zpty -r shell piece; do [[ $piece == *READY* && $piece != *print* ]] && break; done
      zpty -n -w shell $'sheaf import x --durability \\C-X'
      for ((i = 0; i < 100; i++)); do
        while zpty -r -t shell piece; do all+=$piece; done
        [[ $all == *group*none* ]] && { print found; break }
        sleep 0.05
      done
      print -r -- "$all"
      zpty -d shell
      """
    guard let result = try Tools.run("zsh", ["-f", "-c", driver, "zsh", folder]) else { return }
    if result.status == 3 { return print("skipped: zsh has no zpty") }
    #expect(result.outputText.hasPrefix("found"), "\(result.outputText) \(result.errorText)")
  }

  @Test("An unknown shell is a usage error with a suggestion")
  func wrongShells() throws {
    let bench = try Workbench()
    let result = try bench.run(["completions", "fissh"], status: .usage)
    #expect(result.errorText.hasSuffix("expected bash, zsh or fish; did you mean fish?\n"))
    try bench.run(["completions"], status: .usage)
  }
}
