"""Pages of the programs: well-formed, complete in themselves, with all that the report says."""
import html.parser
import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
from tap import done, equal, note, ok

os.chdir(sys.argv[1])
VOID = {'meta', 'link', 'br', 'img', 'hr'}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.open, self.bad, self.heads, self.codes, self.all = [], [], [], [], []
        with open(path, encoding='utf-8') as file:
            self.source = file.read()
        self.feed(self.source)
        self.close()
        self.bad += self.open

    def handle_starttag(self, tag, attributes):
        if tag == 'script' or any(name in ('src', 'href') or name.startswith('on') for name, _ in attributes):
            self.bad.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag in ('h1', 'h2', 'h3'):
            self.heads.append('')
        if tag == 'code':
            self.codes.append('')

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append('/' + tag)

    def handle_data(self, data):
        self.all.append(data)
        if self.open and self.open[-1] in ('h1', 'h2', 'h3'):
            self.heads[-1] += data
        if self.open and self.open[-1] == 'code':
            self.codes[-1] += data

    def text(self):
        return ' '.join(''.join(self.all).split())


def page_of(name, *words, status=(0,)):
    plain = subprocess.run([name, *words], capture_output=True, text=True)
    run = subprocess.run([name, *words, '--html', 'page.html', '-f'], capture_output=True, text=True)
    if run.returncode not in status:
        note(f'{name} {words}: {run.returncode} {run.stderr}')
    page = Page('page.html')
    ok(run.returncode in status and not page.bad, f'{name}: a page that is well-formed, without scripts {page.bad}')
    elsewhere = set(re.findall(r'https?://[^\s"\'<)]*', page.source)) - {'http://www.w3.org/2000/svg'}
    ok(not elsewhere and 'url(' not in page.source and '@import' not in page.source,
       f'{name}: nothing comes from elsewhere {elsewhere}')
    ok('width=device-width' in page.source and 'prefers-color-scheme' in page.source and
       '<meta charset="utf-8">' in page.source, f'{name}: for a phone, and in the dark')
    return page, plain.stdout, run.stdout


def same_text(page, text):
    """Every line of the report is somewhere in the page."""
    have = page.text()
    return [line for line in (' '.join(line.split()) for line in text.splitlines())
            if line and line not in have and not line.startswith('---')]


ODD = '<script>alert("&")</script>'
rng = np.random.default_rng(5)
with h5py.File('a.h5', 'w') as file:
    file.create_dataset('images', data=rng.integers(0, 256, (200, 3, 218, 178), 'u1'), chunks=(100, 3, 217, 178))
    file.create_dataset('odd/' + ODD.replace('/', '|'), data=np.zeros((1024, 64, 64), 'u1') + 1, chunks=(1, 64, 64),
                        compression='gzip', shuffle=True)

# h5audit: findings, commands, the map, the report
report = json.loads(subprocess.run(['h5audit', '--json', 'a.h5'], capture_output=True, text=True).stdout)
found = report['result']['files'][0]['findings']
page, plain, printed = page_of('h5audit', 'a.h5', status=(1,))
equal(printed, plain, 'h5audit: what is printed is what is printed without')
text = page.text()
ok(len(found) > 2 and all(' '.join(f['text'].split()) in text for f in found), 'all findings are on the page')
equal([h.split()[0][-7:] for h in page.heads if 'H5A' in h], [f['code'] for f in found], 'in their order')
equal([c for c in page.codes if c.startswith('h5rechunk')], [f['command'] for f in found if f['command']],
      'with their commands')
ok('h5audit --fix new.h5 a.h5' in page.codes, 'and one for all')
ok(ODD.replace('/', '|') in text and '<script' not in page.source, 'a hostile name is only a name')
ok(f"First of all, /{found[0]['dataset']}: {found[0]['text']}" in text, 'the verdict names the worst')
costs = sum(f['severity'] == 'cost' for f in found)
ok(f'{costs} cost' in page.source.split('class="verdict mild"')[1].split('</p>')[0], 'and counts them')
ok("class='map'" in page.source, 'the map is in it')
equal(same_text(page, plain), [], 'and the whole report')
page, plain, _ = page_of('h5audit', 'a.h5', 'no.h5', 'a.h5:/images', status=(2,))
ok('1 file could not be looked at' in page.text() and 'in 3 files' in page.text() and 'verdict bad' in page.source and
   "class='map'" not in page.source, 'a file that is not there is told of')
with h5py.File('b.h5', 'w') as file:
    file['images'] = np.zeros((4, 4), 'u1')
page, plain, _ = page_of('h5audit', 'b.h5')
ok('Nothing found' in page.text() and 'verdict good' in page.source and not page.codes, 'one that is clean is good')

page, plain, printed = page_of('h5advise', '-q', '--no-measure', 'a.h5:/images')
equal((same_text(page, plain), printed), ([], plain), 'h5advise: all of the report')
ok('h5rechunk, from the file as it is' in page.heads and page.source.count('<svg') == 1 and
   page.source.split('class="verdict')[1].split('>')[1].startswith('BEST'), 'with heads, the heat map and the verdict first')
page, plain, _ = page_of('h5advise', '-q', '--shape', '1000x64x64', '--what-if')
equal((same_text(page, plain), page.source.count('<svg')), ([], 0), 'a what-if has no heat map')

page, _, printed = page_of('h5readbench', '-q', '--no-trial', '--batches', '3', 'a.h5:/images')
equal((same_text(page, printed), page.source.count('<svg')), ([], 1), 'h5readbench: all of the report, and the timeline')
run = subprocess.run(['h5readbench', '-q', '--no-trial', '--json', '--batches', '3', 'a.h5:/images', '--html', 'j.html'],
                     capture_output=True, text=True)
ok(json.loads(run.stdout) and 'samples/s' in Page('j.html').text(), 'beside JSON, too')
done()
