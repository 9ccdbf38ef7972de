// Package scriptedagent starts the agent of codex/scriptedagent for tests: with more steps,
// which fail, ask, wait and send what Codex would not send, and with the refusals of Codex for
// requests that are wrong. The steps are, besides the agent's own,
//
//	Leave `command` running               in a session of its own, for good
//	Ask for approval of `command`         and run it if the client agrees
//	Ask `question`                        and say the answer
//	Say `text`
//	Spend `count` tokens                  besides the 100 in and 20 out of a turn
//	Wait `delay`                          such as 250ms
//	Hang                                  until interrupted
//	Fail with `failure`                   usageLimitExceeded, or httpConnectionFailed 503
//	Exit `count`                          the process, with this code
//	Flood `count`                         send this number of deltas of 200 bytes
//	Output `count` bytes                  from a command
//	Send `line` verbatim                  which may not be JSON
//	Send a line of `count` bytes          which is JSON
//	Ignore signals and EOF                so that only SIGKILL ends the process
//
// [Main] is the agent as a process of its own. The tests here hold the same conversations with
// the agent and with the real Codex, and compare every message with the recorded fields
// (testdata/shapes.txt).
package scriptedagent
