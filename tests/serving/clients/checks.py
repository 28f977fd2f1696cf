"""What the checks by real clients share: a peer's environment, a server for a while, and a count of what failed."""
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def in_peer(name):
    """Runs this program again in the environment that scripts/peers makes; exits where there is none."""
    peers = pathlib.Path(os.environ.get('ONWARD_PEERS') or pathlib.Path.home() / '.cache/onward/peers')
    python = peers / name / 'bin/python'
    if pathlib.Path(sys.prefix) == peers / name:
        return
    if not python.exists():
        print(f'scripts/peers {name} was not run')
        sys.exit(SKIPPED)
    os.execv(python, [str(python), *sys.argv])


class Checks:
    def __init__(self):
        self.failed = 0

    def that(self, what, good, detail=''):
        self.failed += not good
        print(('ok    ' if good else 'FAILED ') + what + ('' if good else f': {str(detail)[:600]}'), flush=True)

    def finish(self):
        print(f'{self.failed} checks failed' if self.failed else 'all checks hold')
        return 1 if self.failed else 0


class Served:
    """`onward serve` with the models that `write` makes in a directory; it returns them as arguments of the command."""

    def __init__(self, onward, write):
        self.onward, self.write, self.key = onward, write, 'key-of-a-client'

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.directory.name)
        keys = folder / 'keys'
        keys.write_text(self.key + '\n')
        keys.chmod(0o600)
        self.server = subprocess.Popen([self.onward, 'serve', *self.write(folder), '--http', '127.0.0.1:0', '--api-key-file',
                                        str(keys)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = ''
        for line in self.server.stdout:
            said += line
            if 'serving ' in line and 'http://' in line:
                self.url = line[line.index('http://'):].split()[0]
                return self
        self.server.wait()
        raise SystemExit(f'the server did not start:\n{said}')

    def __exit__(self, *error):
        self.server.terminate()
        self.server.communicate(timeout=60)
        self.directory.cleanup()
