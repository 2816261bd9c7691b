package cli

import (
	"fmt"
	"os"
	"strings"
)

// readEnvFile reads the settings of --env-file, which win over the environment.
func (c *cli) readEnvFile() error {
	if c.envFile == "" {
		return nil
	}

	content, err := os.ReadFile(c.envFile)
	if err != nil {
		return fmt.Errorf("--env-file: %w", err)
	}
	values, err := parseEnvFile(string(content))
	if err != nil {
		return fmt.Errorf("--env-file: %s: %w", c.envFile, err)
	}

	environment := c.Env
	c.Env = func(name string) (string, bool) {
		if value, ok := values[name]; ok {
			return value, true
		}
		return environment(name)
	}
	return nil
}

// parseEnvFile reads the lines of an environment file as systemd does: NAME=value,
// with comments behind # and ;, and values in single or double quotes. Nothing is
// expanded, so a password may contain $ and an address &.
func parseEnvFile(content string) (map[string]string, error) {
	values := map[string]string{}
	number := 0
	lines := strings.Split(content, "\n")
	for number < len(lines) {
		line := strings.TrimSpace(lines[number])
		number++
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}

		// A backslash at the end continues the line.
		for strings.HasSuffix(line, `\`) && number < len(lines) {
			line = line[:len(line)-1] + strings.TrimSpace(lines[number])
			number++
		}

		name, text, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
			return nil, fmt.Errorf("line %d must be NAME=value, such as LISTEN=127.0.0.1:8080", number)
		}
		value, err := unquote(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("line %d: the value of %s %w", number, name, err)
		}
		values[name] = value
	}
	return values, nil
}

// unquote returns a value without its quotes. In single quotes every character
// stands for itself; elsewhere a backslash precedes one that does.
func unquote(text string) (string, error) {
	if text == "" {
		return "", nil
	}

	quote := text[0]
	if quote == '\'' || quote == '"' {
		if len(text) < 2 || text[len(text)-1] != quote {
			return "", fmt.Errorf("has no closing %c", quote)
		}
		text = text[1 : len(text)-1]
		if quote == '\'' {
			return text, nil
		}
	}

	var out strings.Builder
	for i := 0; i < len(text); i++ {
		isEscape := text[i] == '\\' && i+1 < len(text)
		if isEscape && (quote != '"' || strings.IndexByte("\"\\`$", text[i+1]) >= 0) {
			i++
		}
		out.WriteByte(text[i])
	}
	return out.String(), nil
}
