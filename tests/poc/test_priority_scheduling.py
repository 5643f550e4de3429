#!/usr/bin/env python3
"""
POC Stage 1: Online/Offline AI 优先级调度测试框�
"""

import ctypes
import time
import threading
from dataclasses import dataclass
from typing import List

# 加载 C 库
lib = ctypes.CDLL('./libgpreempt_poc.so')

@dataclass
class QueueInfo:
    queue_id: int
    priority: int
    gpu_id: int
    tag: str
    is_active: bool

class GPreemptScheduler:
    def __init__(self):
        self.lib = lib
        self.lib.gpreempt_poc_init()
        
        self.online_queues = []
        self.offline_queues = []
        self.online_task_pending = False
        
        # �动监�线程
        self.monitor_thread = threading.Thread(target=self._monitor_loop)
        self.monitor_thread.daemon = True
        self.monitor_thread.start()
    
    def _monitor_loop(self):
        """监�线程：检测 Online 任务并触�抢�"""
        while True:
            time.sleep(0.001)  # 1ms 检测间隔
            
            if self.online_task_pending:
                print("[SCHED] 检测到 Online 任务，触�抢�...")
                self._handle_online_task()
    
    def _handle_online_task(self):
        """处� Online 任务到达"""
        
        # 1. 暂�所有 Offline 队列
        offline_ids = [q.queue_id for q in self.offline_queues]
        if offline_ids:
            print(f"[SCHED] 暂� {len(offline_ids)} 个 Offline 队列")
            ret = self.lib.gpreempt_suspend_queues(
                (ctypes.c_uint32 * len(offline_ids))(*offline_ids),
                len(offline_ids),
                1000  # 1ms grace period
            )
            if ret == 0:
                print(f"[SCHED] ✅ Offline 队列已暂�")
            else:
                print(f"[SCHED] � 暂�失败")
        
        # 2. �待 Online 任务完�
        # (通过��机制检测，例如�调�轮询 rptr/wptr �)
        self._wait_for_online_completion()
        
        # 3. �� Offline 队列
        if offline_ids:
            print(f"[SCHED] �� {len(offline_ids)} 个 Offline 队列")
            ret = self.lib.gpreempt_resume_queues(
                (ctypes.c_uint32 * len(offline_ids))(*offline_ids),
                len(offline_ids)
            )
            if ret == 0:
                print(f"[SCHED] ✅ Offline 队列已��")
            else:
                print(f"[SCHED] � ��失败")
        
        self.online_task_pending = False
    
    def _wait_for_online_completion(self):
        """�待 Online 任务完�"""
        # TODO: ��完�检测
        # 方法1: 固定时间片 (简�)
        time.sleep(0.010)  # 10ms
        
        # 方法2: 轮询队列状� (精确)
        # while not online_queue_idle():
        #     time.sleep(0.001)
    
    def register_online_queue(self, queue_id, priority=15):
        """注册 Online 队列"""
        q = QueueInfo(queue_id, priority, 0, "ONLINE", True)
        self.online_queues.append(q)
        print(f"[SCHED] 注册 Online 队列: {queue_id}, priority={priority}")
    
    def register_offline_queue(self, queue_id, priority=2):
        """注册 Offline 队列"""
        q = QueueInfo(queue_id, priority, 0, "OFFLINE", True)
        self.offline_queues.append(q)
        print(f"[SCHED] 注册 Offline 队列: {queue_id}, priority={priority}")
    
    def notify_online_task(self):
        """通知有 Online 任务到达"""
        self.online_task_pending = True
    
    def cleanup(self):
        self.lib.gpreempt_poc_cleanup()


# ���������������������������������������������������������������
#  测试场景
# ���������������������������������������������������������������

def test_online_offline_scheduling():
    """测试 Online/Offline 调度"""
    
    sched = GPreemptScheduler()
    
    # 1. �动 Offline-AI 模�（�练）
    print("\n[TEST] �动 Offline-AI 模�（�练）...")
    offline_process = launch_offline_ai()
    
    # �待队列创建
    time.sleep(2)
    
    # 2. 扫�并注册队列
    print("\n[TEST] 扫�队列...")
    offline_queues = find_queues_by_priority(min_prio=0, max_prio=5)
    for q in offline_queues:
        sched.register_offline_queue(q.queue_id, q.priority)
    
    # 3. �动 Online-AI 模�（��）
    print("\n[TEST] �动 Online-AI 模�（��）...")
    online_process = launch_online_ai()
    
    time.sleep(1)
    
    online_queues = find_queues_by_priority(min_prio=10, max_prio=15)
    for q in online_queues:
        sched.register_online_queue(q.queue_id, q.priority)
    
    # 4. 模拟 Online 任务到达
    print("\n[TEST] 模拟 Online 任务到达...")
    for i in range(10):
        print(f"\n[TEST] === Online 任务 #{i+1} ===")
        sched.notify_online_task()
        time.sleep(0.5)  # � 500ms 一个��请求
    
    # 5. 清�
    sched.cleanup()
    offline_process.terminate()
    online_process.terminate()


if __name__ == '__main__':
    test_online_offline_scheduling()
