import sys
def test_x(project, monkeypatch):
    import _pytest.pytester as p
    seen=set()
    orig=p.SysModulesSnapshot.restore
    def rest(self):
        seen.update(set(sys.modules)-set(self._SysModulesSnapshot__saved))
        orig(self)
    monkeypatch.setattr(p.SysModulesSnapshot,'restore',rest)
    r = project.run("-v","--bench-report=report"); assert r.ret==0
    print(sorted(seen))
    print(r.duration)
import pytest
@pytest.mark.parametrize("i",range(3))
def test_sub(project,i):
    r = project.run_apart("-v","--bench-report=report"); assert r.ret==0
@pytest.mark.parametrize("i",range(3))
def test_sub2(project,i):
    r = project.run_apart("-v","--bench-report=report","-n2"); assert r.ret==0
@pytest.mark.parametrize("i",range(3))
def test_in(project,i):
    r = project.run("-v","--bench-report=report"); assert r.ret==0
    r = project.run("-v","--bench-report=report"); assert r.ret==0
