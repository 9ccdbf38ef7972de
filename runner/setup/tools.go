package setup

import (
	"fmt"
	"os"
	"path/filepath"
)

// programs are the names of the toolchains whose change makes a preparation worthless: their
// products fit only themselves.
var programs = []string{
	"node", "npm", "pnpm", "yarn", "bun", "deno", "python3", "python", "pip", "uv", "poetry", "go", "java", "mvn", "gradle",
	"ruby", "bundle", "rustc", "cargo", "php", "composer", "dotnet", "perl", "gcc", "cc", "clang", "make", "cmake",
}

// toolFolders are the variables by which a job names a toolchain.
var toolFolders = []string{"JAVA_HOME", "GOROOT", "pythonLocation", "DOTNET_ROOT", "RUSTUP_TOOLCHAIN", "NVM_BIN", "PYENV_VERSION"}

// Tools returns a line for each toolchain on the PATH of a program with these variables.
func Tools(lookup func(name string) (value string, ok bool)) []string {
	if lookup == nil {
		return nil
	}
	var lines []string
	path, _ := lookup("PATH")
	for _, program := range programs {
		for _, folder := range filepath.SplitList(path) {
			file := filepath.Join(folder, program)
			info, err := os.Stat(file)
			if err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0 || !filepath.IsAbs(folder) {
				continue
			}
			if real, err := filepath.EvalSymlinks(file); err == nil {
				file = real
			}
			lines = append(lines, fmt.Sprintf("%s %s %d %d", program, file, info.Size(), info.ModTime().Unix()))
			break
		}
	}
	for _, name := range toolFolders {
		if value, ok := lookup(name); ok {
			lines = append(lines, name+" "+value)
		}
	}
	return lines
}
