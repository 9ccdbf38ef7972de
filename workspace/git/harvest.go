package git

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

//go:embed harvest.sh
var harvestScript string

// Harvest returns the command that packs the agent's work. Run it inside the sandbox of the
// agent, in the workspace, when no other process of the agent runs, and give its standard
// output to [Store.Receive]. start is the commit that the workspace was made from, temp an
// absolute path of a folder that the sandbox may write to, and tree describes the files that
// the checkout made. A repository of 20,000 files takes half a second, an agent that moved its
// branch to another history a minute.
//
// A file outside of Paths that is missing is unchanged; one that the agent made there is work.
// The workspace's own settings of a sparse checkout are not looked at, so a folder of Paths
// that the agent makes disappear with them is deleted, as if by rm. Files in folders that are
// left out, or that the sandbox keeps read-only, are unchanged. Files in Git LFS are taken as
// pointers; for their objects see [Incoming.NewObjects]. A file that git cannot take, such as
// one of more than 32 MiB, is left out by itself; see [Untaken].
func (h *Host) Harvest(start ObjectID, temp string, tree WorkTree) Command {
	c := h.harvest(start, temp, append([]string{"all", strings.Join(tree.LeftOut, " ")}, excludeSparse(tree.Paths)...))
	if tree.LFS {
		c.Env = append(c.Env, lfsHarvestEnv...)
	}
	return c
}

// HarvestCommits returns the command that packs the agent's commits alone, for a work
// tree that may not have been filled; see Harvest.
func (h *Host) HarvestCommits(start ObjectID, temp string) Command {
	return h.harvest(start, temp, []string{"commits", ""})
}

func (h *Host) harvest(start ObjectID, temp string, args []string) Command {
	return Command{
		Args: append([]string{h.shell, "-c", readOnlyFunctions + harvestScript, "sh", start.String(), h.git, strconv.Itoa(h.limits.names)}, args...),
		Env:  append([]string{"TMPDIR=" + temp}, sandboxEnv...),
	}
}

// Untaken holds the paths at which the agent had changes that are not committed, and that
// git could not take along. The zero value says that everything was taken.
type Untaken struct {
	Count int    // number of all such paths
	Paths []Path // the first 20 of them
}

// Path is a path of Untaken, in one line, as git quotes it.
type Path struct{ Name, Why string }

// String returns the path with its reason.
func (p Path) String() string { return p.Name + " (" + p.Why + ")" }

// String returns the paths with their reasons, in one line; empty if everything was taken.
func (u Untaken) String() string {
	var list []string
	for _, path := range u.Paths {
		list = append(list, path.String())
	}
	if more := u.More(); more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// More returns the number of paths that are not in Paths.
func (u Untaken) More() int { return u.Count - len(u.Paths) }

// untakenReasons explains the words of the harvest for a path that git cannot take.
var untakenReasons = map[string]string{
	"large":      "larger than 32 MiB",
	"repository": "a repository of its own",
	"unreadable": "git cannot read or encode it",
}

// harvestHeader holds the lines that the harvest prints before the pack.
type harvestHeader struct {
	head, tip ObjectID
	untaken   Untaken
}

// Bounds of the lines before the pack.
const (
	maxHeader       = 200 // bytes of the first line
	maxUntaken      = 20  // paths
	maxUntakenLine  = 320 // bytes of the line of a path
	maxUntakenCount = 1_000_000_000
)

func readHeader(r *bufio.Reader) (harvestHeader, error) {
	line, err := readHarvestLine(r, maxHeader)
	if err != nil {
		return harvestHeader{}, err
	}
	h, err := parseHeader(line)
	if err != nil {
		return harvestHeader{}, err
	}
	for range min(h.untaken.Count, maxUntaken) {
		line, err := readHarvestLine(r, maxUntakenLine)
		if err != nil {
			return harvestHeader{}, err
		}
		word, name, _ := strings.Cut(line, " ")
		why, known := untakenReasons[word]
		if !known || name == "" {
			return harvestHeader{}, refuse("the harvest names a path by the line %q", sanitize(line))
		}
		h.untaken.Paths = append(h.untaken.Paths, Path{text.OneLine(name, maxUntakenLine), why})
	}
	return h, nil
}

// readHarvestLine returns the next line of the harvest, of at most limit bytes.
func readHarvestLine(r *bufio.Reader, limit int) (string, error) {
	var line []byte
	for {
		b, err := r.ReadByte()
		switch {
		case err == io.EOF:
			return "", &Refusal{Reason: fmt.Sprintf("the harvest ended in the line %q", sanitize(string(line))), Err: io.ErrUnexpectedEOF}
		case err != nil:
			return "", &Refusal{Reason: fmt.Sprintf("the harvest failed: %v", err), Err: err}
		case b == '\n':
			return string(line), nil
		case len(line) == limit:
			return "", refuse("the harvest begins with %q", sanitize(string(line)))
		}
		line = append(line, b)
	}
}

func parseHeader(line string) (h harvestHeader, err error) {
	fields := strings.Split(line, " ")
	if len(fields) != 4 || fields[0] != "symphony-pack" {
		return harvestHeader{}, refuse("the harvest begins with %q", sanitize(line))
	}
	var err1, err2, err3 error
	h.head, err1 = ParseObjectID(fields[1])
	h.tip, err2 = ParseObjectID(fields[2])
	if fields[3] != takenAll {
		h.untaken.Count, err3 = strconv.Atoi(fields[3])
		if n := h.untaken.Count; n < 1 || n > maxUntakenCount || strconv.Itoa(n) != fields[3] {
			err3 = strconv.ErrRange
		}
	}
	if err := errors.Join(err1, err2, err3); err != nil || h.tip.IsZero() || h.head.IsZero() {
		return harvestHeader{}, refuse("the harvest begins with %q", sanitize(line))
	}
	return h, nil
}

// takenAll stands in the place of a number of paths if git could take everything.
const takenAll = "all"
