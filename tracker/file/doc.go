// Package file is the tracker that needs no service: a folder of Markdown
// files, one per issue. It is the default of the program and the tracker of
// its demo.
//
// An issue is the file <identifier>.md:
//
//	---
//	title: Fix the login page      # else the first "# heading" of the body
//	state: Todo                    # required
//	priority: 2                    # a whole number; anything else is none
//	labels: [bug, urgent]          # or: bug, urgent
//	blocked_by: [ABC-1]            # identifiers of other files
//	created_at: 2026-01-31         # or RFC 3339; anything else is none
//	updated_at: 2026-02-01T09:30:00Z
//	assignee_id: kim
//	branch_name: login
//	url: https://example.org/42
//	---
//	The description.
//
// # Profile
//
//   - kind: file
//   - keys: path, the folder.
//   - defaults: path is issues, from the folder of WORKFLOW.md.
//   - secrets: none.
//   - scope: the folder itself, not those below it. A name that begins with a dot
//     is no issue, nor is a README.md without front matter. Only regular files
//     are read, never a link.
//   - paging: none; issues come in the order of their identifiers, byte by byte.
//   - identity: id and identifier are both the file name without .md, as it is.
//   - states: any text. Without updated_at the time of the file stands for it;
//     nothing stands for created_at.
//   - labels: lower case, trimmed, each once; a list, or words with commas.
//   - priority: a whole number; anything else is none.
//   - dispatchable: always. A blocker carries the state of its own file, or no
//     state where that cannot be read; what it holds up is SPEC §8.2's to say.
//   - tools: issue_update {state?, comment?} changes the session's own issue: the
//     state, one line of up to 100 characters, comment, Markdown that is added
//     below, or both; at least one. No other key is taken. The result is one
//     sentence that says what is now so; OK is false, and nothing is changed, when
//     the arguments are others or the file would become malformed.
//   - errors: invalid_tracker_config, tracker_request, and tracker_response for a
//     read by id of a malformed file: front matter that cannot be read, no title
//     or state, labels or blocked_by that are no list, anything but a regular
//     file. A list leaves such a file out with a warning, and is a
//     tracker_response when every file is malformed.
//   - limits: files of up to 1 MiB, front matter of up to 64 KiB and 500 keys.
//     In the checkout of an Actions job what is written is thrown away with the
//     job, and the next run works on the same issues again, unless a later step
//     commits and pushes the folder; the report warns of it.
//
// Comments stand at the end of the file, under "## Comments", each below a
// heading with its time and author. As with any other tracker they are no part
// of the description, so a note from the agent does not make the issue a
// different one: what an agent must know belongs above them.
//
// The folder is opened anew by each read, so one that was replaced (by a
// checkout, say) is never mistaken for an empty one. A file is parsed again
// only when its size, time or inode changed.
//
// The tool changes the lines state and updated_at, where the latter exists, and
// appends; every other byte is what people wrote. It replaces the file in one
// step and keeps its permissions. An edit that somebody saves meanwhile is
// kept; only one in the instant between the last look and the rename is not.
package file
