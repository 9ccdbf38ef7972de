package prompt

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
)

// preamble returns the text before the prompt of a session: the fate of the last session's
// work, the state of the workspace, and the way to deliver. The template need not say any of
// it.
func preamble(issue tracker.Issue, run Run) string {
	return refusal(issue, run) + lastSession(issue, run.LeftOut, leftOut) + lastSession(issue, run.Blocked, blocked) + resumption(issue, run) + repository(run) + room(run) + asking(run)
}

// maxRefused bounds the reasons of a refusal, in bytes.
const maxRefused = 4000

// refusal returns the text with the reasons why the work of the last session was not published.
// The reasons quote names of files, so they stand in a quotation.
func refusal(issue tracker.Issue, run Run) string {
	reasons := strings.TrimSpace(text.Lines(run.Refused))
	if reasons == "" {
		return ""
	}
	reasons = strings.ReplaceAll(text.Cut(reasons, maxRefused, ""), "\n", "\n> ")
	where := "That work is still in the workspace. Change it so that none of the reasons is left; otherwise it is refused again."
	if !run.WorkspaceKept {
		where = "That work is not in this workspace. Do what the issue asks for without these mistakes; otherwise it is refused again."
	}
	return fmt.Sprintf("The work of the last session on %s was refused and not published, for these reasons:\n\n> %s\n\n%s\n\n", issue.Identifier, reasons, where)
}

// lastSession returns a text about the last session around a list in one line; empty for an empty
// list. The list is the agent's, so it stands in a quotation.
func lastSession(issue tracker.Issue, list, format string) string {
	list = strings.TrimSpace(text.OneLine(list, maxRefused))
	if list == "" {
		return ""
	}
	return fmt.Sprintf(format, issue.Identifier, list)
}

// The texts about files of the last session that are gone, and about hosts which its commands were
// refused.
const (
	leftOut = "Git could not take these files of the last session on %s along, so its work was taken without them:\n\n> %s\n\nThey may be gone from this workspace. If the issue needs them, make them again so that Git can take them: smaller than 32 MiB, readable, in the encoding that .gitattributes says, and not in a repository of their own.\n\n"
	blocked = "Commands of the last session on %s asked for hosts that they may not reach, and were ended:\n\n> %s\n\nDo not ask for them again. If the work cannot be done without one of them, say so: a person has to name it in WORKFLOW.md.\n\n"
)

// resumption returns the text for a session that continues the thread of an earlier one (SPEC
// §7.1). The thread holds an older rendering of the prompt, so the text names the one that
// counts, and the possible differences.
func resumption(issue tracker.Issue, run Run) string {
	if !run.Resumed {
		return ""
	}
	workspace := "The workspace was kept: it is the folder that an earlier session on this issue left. Hooks and people may have changed it since: check before you build on what you remember."
	switch {
	case !run.WorkspaceKept:
		workspace = "The workspace is new. Files and commits that you made and that were not published are gone from it: check what is there before you build on what you remember, and make again what is missing."
	case run.Branch != "":
		workspace = "The workspace was kept: it has what the earlier session left, and what others have pushed to the branch. Several commits may have become one, and files that were not committed may be committed: check before you build on what you remember."
	}
	return fmt.Sprintf(`This thread continues: a new session works on %s, and what you know from the turns before still helps you.

- %s
- The prompt below is rendered for this session, from the issue as it is now; its state is %q. People may have changed the issue or the instructions. Where the prompt differs from what stands earlier in this thread, the prompt below counts.

`, issue.Identifier, workspace, issue.State)
}

// repository returns the text about a workspace that the host has filled.
func repository(run Run) string {
	if run.Branch == "" {
		return ""
	}
	text := fmt.Sprintf("The workspace is a Git repository on the branch `%s`, whose base is `%s`. ", run.Branch, run.Base)
	switch len(run.Aside) {
	case 0:
	case 1:
		text += fmt.Sprintf("Others have pushed to it since an earlier session, whose work was not published and is on the local branch `%s`: merge that, as far as it is still of use. ", run.Aside[0])
	default:
		text += fmt.Sprintf("Others have pushed to it since earlier sessions, whose work was not published and is on the local branches `%s`: merge them, as far as they are still of use. ", strings.Join(run.Aside, "`, `"))
	}
	text += "You cannot push from it or fetch into it"
	if run.Delivers {
		text += ", and need not: at the end of the session everything in it that Git does not ignore, committed or not, is taken (but no uncommitted file of more than 32 MiB and no repository inside it), checked and published on that branch. Open no pull request yourself." +
			" When the work is done and tested, call the tool `deliver` with a title and a description for the people who will review it, and end your turn"
	}
	if run.Submodules {
		text += ". What you change inside a submodule is not taken"
	}
	return text + ".\n\n"
}

// room returns the text about the hosts and files that the agent's commands can reach.
func room(run Run) string {
	prepared := ""
	if run.Prepared {
		prepared = "The project is prepared: what it depends on is installed. After a change of what it depends on, call the tool `setup`, which prepares it again.\n\n"
	}
	if !run.Loopback {
		return prepared
	}
	sockets, temp := ", no Unix socket", "the session's own too unless it is read-only"
	if run.UnixSockets {
		sockets, temp = "", "closed"
	}
	loopback := "its own loopback"
	if len(run.Services) > 0 {
		loopback += ", on it the services " + strings.Join(run.Services, ", ") + " of this machine,"
	}
	reached, fetch := "nothing else: no host, no DNS"+sockets+".", " Package managers cannot fetch anything."
	if len(run.Hosts) > 0 {
		reached = "these hosts, by HTTP and HTTPS through a proxy that passes GET, HEAD and OPTIONS: " + strings.Join(run.Hosts, ", ") +
			". Nothing else can be reached: no other host, no DNS" + sockets + "."
		fetch = " Package managers can fetch from these hosts alone."
	}
	return "Each command that you run has a network of its own, in which it reaches " + loopback + " and " + reached +
		" A server that one command leaves running is not reached by the next one, so start a server and what talks to it in one command." +
		fetch + " There is no ptrace. Write temporary files to $TMPDIR: /tmp is " + temp + ".\n\n" + prepared
}

// asking returns the text on the tool with which the agent asks a person.
func asking(run Run) string {
	if !run.Asks {
		return ""
	}
	return "If you cannot go on without a decision of a person, ask with the tool `ask` and end your turn: a session with the answer continues this one.\n\n"
}

// Continuation returns the text that starts each turn of a session after the first one.
// The thread holds the session's prompt already (SPEC §7.1). It is plain text: no
// template. delivers says that the work is published by the tool deliver.
func Continuation(issue tracker.Issue, turn, maxTurns int, delivers bool) string {
	end := "hand the issue over as the instructions say: move it on from its present state. If you cannot go on, say what you are missing, and hand it over all the same."
	if delivers {
		end = "call the tool `deliver` and end your turn. If you cannot go on, say what you are missing, and call it all the same."
	}
	return fmt.Sprintf(`Go on with %s. This is turn %d of at most %d, and the issue is still open for work: its state is %q.

The latest instructions in this thread stand, and so does everything you have found out and done in this session. Do not start over.

Look at what is left, and do that. When nothing is left, %s
`, issue.Identifier, turn, maxTurns, issue.State, end)
}
