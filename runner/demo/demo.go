// Package demo has the sample project of "symphony demo": three issues, the WORKFLOW.md that
// works on them, and the small repository to which the work goes. It writes them into a new
// folder; the command chooses the folder and the agent, and performs the tick.
//
// [Write] writes the project for one agent, and without a delivery where there is no git.
// [CreateShop] makes the repository.
package demo

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/workspace/git"
)

//go:embed files
var samples embed.FS

const (
	// files is the folder of samples.
	files = "files"
	// shop is the folder in it with the content of the sample repository.
	shop = "files/shop"
)

// RealAgent is the command of the agent in the sample WORKFLOW.md.
const RealAgent = "codex app-server"

// Write writes the sample files, with the agent's command. Without a delivery the
// agent moves the issues itself.
func Write(folder, command string, delivers bool) error {
	return fs.WalkDir(samples, files, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == shop {
			return fs.SkipDir
		}
		target := filepath.Join(folder, filepath.FromSlash(strings.TrimPrefix(path, files)))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		content, err := samples.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.Replace(string(content), "command: "+RealAgent, "command: "+strconv.Quote(command), 1)
		if !delivers {
			text = deliverSections().ReplaceAllString(text, "")
			text = deliverStep().ReplaceAllString(text, "- [ ] Move this issue to `Review`")
		}
		return os.WriteFile(target, []byte(text), 0o600)
	})
}

// CreateShop makes the sample repository to which the work is delivered, with one commit.
func CreateShop(ctx context.Context, host *git.Host, folder string, author git.Person) error {
	content := make(map[string]string)
	err := fs.WalkDir(samples, shop, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := samples.ReadFile(path)
		content[strings.TrimPrefix(path, shop+"/")] = string(text)
		return err
	})
	if err != nil {
		return err
	}
	return host.Create(ctx, folder, content, git.Commit{Author: author, Committer: author, Message: "Open the shop"})
}

// The delivery settings of the sample files.
var (
	deliverSections = lazy.Regexp(`(?m)^(repository|delivery):\n(  .*\n)+`)
	deliverStep     = lazy.Regexp("(?m)^- \\[ \\] Call `deliver` .*$")
)
