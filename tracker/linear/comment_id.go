package linear

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// Linear takes the id of a new comment from its author. The ids of the comments that this
// program posts, for itself and for the agent, have a beginning of their own, because the
// key may belong to a person who writes comments too. They have the form of a UUID of
// version 4, in which "SYMPHONY" is spelled.
const (
	programComment = "53594d50-484f-4e59-8"
	agentComment   = "53594d50-484f-4e59-9"
)

// commentIDPattern matches the id of a comment as Linear writes it.
var commentIDPattern = lazy.Regexp(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// isOurComment reports whether the program or its agent posted a comment with this id. Only
// callers of the API can choose the id of a comment.
func isOurComment(id string) bool {
	return strings.HasPrefix(id, programComment) || isAgentComment(id)
}

// isAgentComment reports the same of a comment that the agent posted with linear_graphql.
func isAgentComment(id string) bool {
	return strings.HasPrefix(id, agentComment) && commentIDPattern().MatchString(id)
}

// completeID returns an id with the given beginning, which continues with random or
// derived bytes.
func completeID(beginning string, rest []byte) string {
	digits := fmt.Sprintf("%x", rest)
	return beginning + digits[:3] + "-" + digits[3:15]
}

func newCommentID() string {
	rest := make([]byte, 8)
	_, _ = rand.Read(rest) // it never fails
	return completeID(agentComment, rest)
}

// derivedID returns the one id that belongs to some words.
func derivedID(beginning string, words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return completeID(beginning, sum[:8])
}
