package room

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// credentialPaths lists the places where people, programs and runners keep credentials and the
// history of typed commands. It is the only such list: the agent may read none of them,
// codex.deny adds to it, and a test tries every line. A line is a path; "~/" is the home
// folder, and "$NAME" the value of an environment variable, which may hold several paths. A
// line whose variable is not set stands for no path.
//
// Files that programs need in order to work are not on it, though some people keep
// credentials there: NuGet.Config and Bundler's config, for example.
var credentialPaths = []string{
	// Keys and logins of a person.
	"~/.ssh", "~/.gnupg", "$GNUPGHOME", "~/.password-store", "$PASSWORD_STORE_DIR", "~/.local/share/keyrings",
	"~/.netrc", "$NETRC", "~/.pgpass", "$PGPASSFILE", "~/.my.cnf", "~/.mylogin.cnf", "~/.vault-token",
	"~/.config/op", "~/.config/sops", "$SOPS_AGE_KEY_FILE", "~/.mozilla", "~/.config/google-chrome", "~/.config/chromium",
	"~/Library/Keychains", "~/Library/Cookies", "~/Library/Application Support/Google/Chrome",

	// Forges and agents.
	"~/.git-credentials", "~/.config/git/credentials", "~/.config/gh", "$GH_CONFIG_DIR", "~/.config/hub", "~/.config/glab-cli",
	"~/.config/github-copilot", "~/.codex", "$CODEX_HOME", "~/.claude", "~/.claude.json",

	// Clouds and containers.
	"~/.aws", "$AWS_SHARED_CREDENTIALS_FILE", "$AWS_CONFIG_FILE", "$AWS_WEB_IDENTITY_TOKEN_FILE",
	"~/.azure", "$AZURE_CONFIG_DIR", "~/.config/gcloud", "$CLOUDSDK_CONFIG", "$GOOGLE_APPLICATION_CREDENTIALS", "$GOOGLE_GHA_CREDS_PATH",
	"~/.kube", "$KUBECONFIG", "~/.docker", "$DOCKER_CONFIG", "~/.config/containers", "$REGISTRY_AUTH_FILE",
	"~/.config/rclone", "$RCLONE_CONFIG", "~/.oci", "~/.config/doctl", "~/.config/hcloud", "~/.fly",
	"~/.terraformrc", "~/.terraform.d/credentials.tfrc.json",

	// Package registries.
	"~/.npmrc", "$NPM_CONFIG_USERCONFIG", "~/.yarnrc", "~/.yarnrc.yml", "~/.pypirc", "~/.config/pip", "$PIP_CONFIG_FILE", "~/.config/pypoetry/auth.toml",
	"~/.cargo/credentials", "~/.cargo/credentials.toml", "$CARGO_HOME/credentials", "$CARGO_HOME/credentials.toml",
	"~/.m2/settings.xml", "~/.m2/settings-security.xml", "~/.gradle/gradle.properties", "~/.gem/credentials",
	"~/.composer/auth.json", "~/.config/composer/auth.json", "$COMPOSER_HOME/auth.json",

	// Histories of typed commands.
	"~/.bash_history", "~/.zsh_history", "~/.zsh_sessions", "$HISTFILE", "~/.local/share/fish/fish_history",
	"~/.python_history", "~/.node_repl_history", "~/.psql_history", "~/.mysql_history", "~/.rediscli_history",

	// The machine: the sockets and tokens of services in /run (a datagram socket
	// answers through any sandbox that can read its path), and files that only the
	// superuser can read, in case the agent is it.
	"/run", "/var/run", "/etc/shadow", "/etc/gshadow", "/etc/ssh",

	// A job of GitHub Actions: its temporary folder with the files of its commands
	// and steps, the token in its checkout, and the key of a self-hosted runner.
	"$RUNNER_TEMP", "$GITHUB_WORKSPACE/.git/config",
	"$RUNNER_TEMP/../../.credentials", "$RUNNER_TEMP/../../.credentials_rsaparams", "$RUNNER_TEMP/../../_diag",
}

// xdgFolders maps the folders of a home to the environment variable that moves them.
var xdgFolders = map[string]string{"~/.config/": "$XDG_CONFIG_HOME/", "~/.local/share/": "$XDG_DATA_HOME/"}

// CredentialPaths returns the lines of the list of credential paths, for the
// documentation.
func CredentialPaths() []string { return slices.Clone(credentialPaths) }

// Denied holds which part of the disk an agent may not read.
type Denied struct {
	Paths    []string // absolute; they need not exist
	Readable []string // folders inside Paths that stay readable because programs are there
}

// DenyCredentials returns the places where the user with this environment keeps
// credentials. Folders that PATH names stay readable.
func DenyCredentials(lookup func(name string) (string, bool)) Denied {
	var d Denied
	add := func(place string) { d.Paths = append(d.Paths, expand(place, lookup)...) }
	for _, place := range credentialPaths {
		add(place)
		for usual, moved := range xdgFolders {
			if rest, ok := strings.CutPrefix(place, usual); ok {
				add(moved + rest)
			}
		}
	}
	path, _ := lookup("PATH")
	for _, folder := range filepath.SplitList(path) {
		if filepath.IsAbs(folder) {
			d.Readable = append(d.Readable, filepath.Clean(folder))
		}
	}
	return d
}

// expand returns the paths that a line of credentialPaths stands for.
func expand(place string, lookup func(string) (string, bool)) (paths []string) {
	if rest, ok := strings.CutPrefix(place, "~/"); ok {
		place = "$HOME/" + rest
	}
	if !strings.HasPrefix(place, "$") {
		return []string{place}
	}
	name, rest, _ := strings.Cut(place[1:], "/")
	value, _ := lookup(name)
	for _, path := range filepath.SplitList(value) {
		if filepath.IsAbs(path) { // a relative one depends on the working directory
			paths = append(paths, filepath.Join(path, rest))
		}
	}
	return paths
}

// RealPaths returns the paths to deny so that nothing below paths can be read, except the paths
// in keep. Both hold clean paths. Codex needs real paths, without links. A path that does not
// exist yet is kept: Codex looks again for every command.
func RealPaths(paths, keep []string) []string {
	out := make([]string, 0, len(paths))
	r := resolver{}
	for _, path := range paths {
		path = r.resolveEntry(path, 0).path
		var kept []string
		for _, k := range keep {
			if k != path && inside(k, path) && exists(k) {
				kept = append(kept, k)
			}
		}
		if len(kept) == 0 {
			out = append(out, path)
			continue
		}
		// Deny all entries except those that lead to a kept path. An entry that is made later
		// is not denied, so only a folder that holds a program is handled like this.
		entries, err := os.ReadDir(path)
		if err != nil {
			out = append(out, path)
			continue
		}
		for _, entry := range entries {
			at := filepath.Join(path, entry.Name())
			isLink := entry.Type()&fs.ModeSymlink != 0 // its target is outside the folder, or an entry itself
			if !isLink && !slices.ContainsFunc(kept, func(k string) bool { return inside(k, at) }) {
				out = append(out, at)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// exists reports whether anything is at path, even a link that leads nowhere.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// maxLinks bounds how many links in a row are followed.
const maxLinks = 40

// resolver caches where folders are while many paths in them are resolved.
type resolver map[string]resolved

// resolved is the end of a path without its links.
type resolved struct {
	path    string // path without links
	missing bool   // nothing was there, so there is nothing below it either
}

// resolve returns the target of a clean path, also when nothing is there.
func (r resolver) resolve(path string, links int) resolved {
	if known, ok := r[path]; ok {
		return known
	}
	at := r.resolveEntry(path, links)
	if links == 0 { // deeper, maxLinks may have cut the result short
		r[path] = at
	}
	return at
}

// resolveEntry returns the target of a clean path, without the cache.
func (r resolver) resolveEntry(path string, links int) resolved {
	parent, name := filepath.Split(path)
	if name == "" {
		return resolved{path: path} // the root
	}
	if len(parent) > 1 {
		parent = parent[:len(parent)-1] // the slash
	}
	folder := r.resolve(parent, links)
	at := path
	if folder.path != parent {
		at = filepath.Join(folder.path, name)
	}
	if folder.missing {
		return resolved{at, true}
	}
	target, err := os.Readlink(at)
	if err != nil || links >= maxLinks {
		return resolved{at, errors.Is(err, fs.ErrNotExist)}
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return resolved{path: real}
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(at), target)
	}
	return r.resolve(filepath.Clean(target), links+1)
}

func inside(path, folder string) bool {
	rest, isPrefix := strings.CutPrefix(path, strings.TrimSuffix(folder, "/"))
	return path == folder || isPrefix && strings.HasPrefix(rest, "/")
}
