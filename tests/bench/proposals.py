"""Whether what h5readbench proposes holds when it is applied: h5readbench FILE as a user
runs it, for one to three epochs, 3 s at most; then each proposal of its report carried out as its
command says, and runs of 30 epochs of what was there and of what was proposed, in turns.

    proposals.py BUILD FOLDER     environment: that of regret.py, whose cases these are
                                  (REGRET_CASES, REGRET_SEED, REGRET_PAIRS, REGRET_MIB,
                                  REGRET_SECONDS), and PROPOSALS_CASE=N: only the N-th case;
                                  PROPOSALS_LOG=FILE: rows are added to it, and the totals
                                  are those of all rows in it

For each proposal: what was printed, what was measured (median and 95 % interval of the
pairs' ratios). The last lines count those whose interval lies wholly below 0.95, those
below what is worth naming, and gains within a quarter of the printed one; and the cases in
which h5advise, asked the same, chooses another change.
"""
import json
import os
import random
import re
import time

import numpy as np

import regret

CASE = os.environ.get('PROPOSALS_CASE', '')
LOG = os.environ.get('PROPOSALS_LOG', '')
OF_RECHUNK = ('--chunk', '--compress')
OF_THE_DATA = ('settings', 'order', 'rewrite')  # what h5advise chooses among


def reading(path, case, options):
    """The case's run of 30 epochs under other options."""
    args, cold = regret.reading(path, case, regret.pattern_name(case), None)
    if cold:  # as was asked: before each epoch
        args.append('--cold')
    for name, value in options:
        short = {'--pattern': '-p', '--workers': '-w', '--batch': '-b'}.get(name, name)
        if short in args:
            args[args.index(short) + 1] = value
        else:
            args += [name, value]
    return args, cold


def ask(path, case, epochs):
    """The proposals, as a user gets them."""
    kind, order, workers, cold = case
    args = [path, '-d', 'images', '-q', '--json', '-w', str(workers), '-b', '64',
            '-e', str(epochs), '--seconds', '3']
    if order not in ('shuffle', 'crop') or kind == 'volume':
        args += ['-p', regret.pattern_name(case)]
    if order == 'crop':
        args += ['--crop', regret.KINDS[kind][1]]
    if kind == 'volume':
        args += ['--box', '32x32x32']
    if cold:
        args += ['--cold']
    start = time.monotonic()
    measured = regret.program('h5readbench', *args)['measured']
    own = measured['elapsed_ns'] / 1e9
    return measured['advice'], time.monotonic() - start - own


def carry_out(path, case, command):
    """The arguments of the run that a command proposes, and a file to remove afterwards."""
    options = [o for o in re.findall(r'(--[a-z0-9-]+) (\S+)', command) if o[0] not in OF_RECHUNK]
    new = re.match(r'h5rechunk .* --chunk ([0-9x]+) --compress ([^ ,]+)', command)
    if not new and ' --chunk none ' not in command:
        assert not command.startswith(('h5rechunk', 'repack')), command
        if command.startswith('cat '):
            regret.touch(path, False)
            case = case[:3] + (False,)
        return reading(path, case, options), None
    row = {'chunk': [int(n) for n in new[1].split('x')] if new else [],
           'codec': new[2] if new else 'none'}
    out = f'{regret.FOLDER}/proposed.h5'
    regret.rewrite(path, row, out)
    regret.settle(out, case[3])
    return reading(out, case, options), out


def try_proposal(path, case, proposal):
    base = reading(path, case, [])
    proposed, out = carry_out(path, case, proposal['command'])
    ratios, whole, _ = regret.pairs(base, proposed, regret.PAIRS)
    if out:
        os.unlink(out)
    low, high = regret.interval(ratios)
    return {'case': case, 'change': proposal['change'], 'command': proposal['command'],
            'basis': proposal['basis'], 'gain': float(np.median(ratios)), 'low': low, 'high': high,
            'printed': proposal['gain' if whole else 'later_epochs_gain']}


def try_case(case, epochs):
    path = f'{regret.FOLDER}/{case[0]}.h5'
    if not os.path.exists(path):
        regret.KINDS[case[0]][0](path, np.random.default_rng(regret.SEED))
    regret.touch(path, case[3])
    proposals, seconds = ask(path, case, epochs)
    regret.touch(path, case[3])
    answer, _ = regret.advise(path, case)
    theirs = answer['result']['rows'][0]['change']
    ours = next((p['change'] for p in proposals if p['change'] in OF_THE_DATA), 'none')
    return {'case': case, 'epochs': epochs, 'seconds': seconds, 'h5readbench': ours, 'h5advise': theirs,
            'rows': [try_proposal(path, case, p) for p in proposals if p['change'] != 'echo']}


def name(case):
    kind, order, workers, cold = case
    return f'{kind:12} {order:15} {workers} {"cold" if cold else "warm":5}'


def show(r):
    other = '' if r['h5readbench'] == r['h5advise'] else f', h5advise: {r["h5advise"]}'
    if not r['rows']:
        print(f'{name(r["case"])} {r["epochs"]}  nothing is proposed{other} ({r["seconds"]:.0f} s)',
              flush=True)
    for row in r['rows']:
        print(f'{name(r["case"])} {r["epochs"]} {row["printed"]:7.2f} {row["gain"]:6.2f} '
              f'{row["low"]:5.2f}..{row["high"]:<5.2f} {row["change"]}, {row["basis"]}: '
              f'{row["command"]}{other} ({r["seconds"]:.0f} s)', flush=True)


def totals(results):
    rows = [row for r in results for row in r['rows']]
    losses = [r for r in rows if r['high'] < 0.95]
    noise = [r for r in rows if r['gain'] < (1.15 if r['change'] == 'rewrite' else 1.05)]
    far = [r for r in rows if not 0.8 <= r['printed'] / r['gain'] <= 1.25]
    other = [r for r in results if r['h5readbench'] != r['h5advise']]
    print(f'\n{len(results)} cases, {len(rows)} proposals')
    print(f'losses (interval wholly below 0.95): {len(losses)} (0 wanted)')
    print(f'gain within a quarter of the printed: {1 - len(far) / max(1, len(rows)):.2f} (0.85 wanted)')
    print(f'below what is worth naming: {len(noise)}')
    print(f'another change than h5advise: {len(other)} of {len(results)}')
    for title, listed in ('loss', losses), ('far', far), ('not worth it', noise):
        for r in listed:
            print(f'{title}: {tuple(r["case"])}: {r["command"]}: printed {r["printed"]:.2f}, '
                  f'{r["gain"]:.2f} ({r["low"]:.2f} to {r["high"]:.2f})')
    for r in other:
        print(f'other: {tuple(r["case"])}: {r["h5readbench"]}, h5advise: {r["h5advise"]}')


def draw_all(rng):
    cases = []
    while len(cases) < regret.CASES:
        case = regret.draw(rng)
        if case not in [c for c, _ in cases]:
            cases.append((case, rng.choice([1, 2, 3])))
    return cases


def main():
    start, results = time.monotonic(), []
    cases = draw_all(random.Random(regret.SEED))
    print(f'seed {regret.SEED}, {regret.MIB} MiB a file, {regret.PAIRS} pairs of runs of '
          f'{regret.RUN_SECONDS:g} s, HDF5 {regret.h5py.version.hdf5_version}, load {os.getloadavg()[0]:.1f}')
    print(f'{"file":12} {"order":15} {"w":1} {"pages":5} {"e":1} {"printed":>7} {"gain":>6} '
          f'{"95 %":>12}  proposal')
    for case, epochs in [cases[int(CASE) - 1]] if CASE else cases:
        if time.monotonic() - start > regret.SECONDS:
            break
        try:
            results.append(try_case(case, epochs))
        except RuntimeError as error:
            print(f'{case}: {error}')
            continue
        show(results[-1])
    if LOG:
        with open(LOG, 'a') as f:
            f.writelines(json.dumps(r) + '\n' for r in results)
        with open(LOG) as f:
            results = [json.loads(line) for line in f]
    totals(results)


if __name__ == '__main__':
    main()
